"""The container files name options that there are, and files that are there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import typer
from strictyaml import load

from lakesieve.cli.app import build_app

ROOT = Path(__file__).parents[2]


def _parsed(arguments: list[str]) -> dict[str, object]:
    """What the command line makes of arguments, without running the command."""
    serve = typer.main.get_command(build_app()).commands["serve"]  # type: ignore[attr-defined]
    context = serve.make_context("serve", arguments)
    return dict(context.params)


def test_the_image() -> None:
    """It copies what there is, and starts the server for callers from outside."""
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (.*)$", text, re.MULTILINE):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists()
            assert f"!{source}" in (ROOT / ".dockerignore").read_text().splitlines()
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)
    command, name, *arguments = json.loads(entry)
    assert (command, name) == ("lakesieve", "serve")
    given = _parsed(arguments)
    assert given["host"] == "0.0.0.0"
    # whoever runs it says how its callers are checked
    assert not given["no_auth"]


def test_the_services() -> None:
    """The server stands in front of the catalog, at its port."""
    document = load((ROOT / "deploy" / "compose.yaml").read_text()).data
    services = document["services"]
    server = services["lakesieve"]
    assert (ROOT / server["build"]["dockerfile"]).exists()
    given = _parsed(server["command"])
    # the catalog behind lends no credentials: both mount one volume
    assert given["own_credentials"]
    assert given["catalog"] == "http://catalog:8181"
    # that catalog asks for no credentials, so that only this machine may reach the server
    assert given["no_auth"]
    assert server["depends_on"] == ["catalog"]
    assert server["ports"] == [f"127.0.0.1:{given['port']}:{given['port']}"]
    assert {volume.split(":")[0] for s in services.values() for volume in s["volumes"]} == set(
        document["volumes"]
    )
