"""The command that serves a catalog."""

from __future__ import annotations

from typing import Annotated

import typer

from lakesieve.cli.command import EVERYWHERE, Run, command

__all__ = ["SERVE"]


@command("serve", EVERYWHERE)
def serve(
    run: Run,
    *,
    catalog: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|URI",
            help="A catalog of PyIceberg's configuration, or the address of a REST catalog; "
            "by default the embedded one.",
        ),
    ] = None,
    warehouse: Annotated[
        str, typer.Option(metavar="DIR", help="Directory of the embedded Iceberg catalog.")
    ] = "warehouse",
    host: Annotated[str, typer.Option(help="Address on which to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on which to listen.")] = 8181,
    workers: Annotated[int, typer.Option(min=1, help="How many processes.")] = 1,
    mode: Annotated[
        str, typer.Option(help="Who plans scans: `server`, `client`, or `either`.")
    ] = "server",
    location: Annotated[
        list[str] | None,
        typer.Option(metavar="URI", help="A further root to search for indexes."),
    ] = None,
    memory: Annotated[
        int, typer.Option(min=16, help="Megabytes of manifests that each process keeps.")
    ] = 1024,
    certificate: Annotated[
        str | None, typer.Option(metavar="FILE", help="A certificate, for TLS.")
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="FILE", help="The certificate's key.")] = None,
) -> None:
    """Serve a REST catalog that plans scans with indexes, for every Iceberg client."""
    from lakesieve.serve.run import ServerSettings
    from lakesieve.serve.run import serve as start

    if mode not in {"server", "client", "either"}:
        raise typer.BadParameter(f"{mode!r} is none of server, client, either", param_hint="--mode")
    shown = catalog or f"the tables in {warehouse}"
    run.output.say(f"Serving {shown} at http{'s' if certificate else ''}://{host}:{port} ...")
    start(
        ServerSettings(
            catalog=catalog,
            warehouse=warehouse,
            host=host,
            port=port,
            workers=workers,
            mode=mode,
            locations=tuple(location or ()),
            memory=memory << 20,
            certificate=certificate,
            key=key,
        )
    )


SERVE = (serve,)
"""The commands."""
