"""Checks a running server as a client of it."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

import httpx

from lakesieve.errors import ErrorKind, NotFoundError, StorageError
from lakesieve.serve.exposure import prefix_of

_SECONDS = 60.0


def check_server(address: str, table: str, token: str | None = None) -> dict[str, Any]:
    """Load a table from a server, and let the server plan a scan of all its rows.

    Returns:
        ``planned_by``, who plans by the server's configuration; ``plans``, whether the server lists
        the endpoint; ``files``, the number of data files; ``reasons``, coded; ``milliseconds``, how
        long the plan took.

    Raises:
        NotFoundError: The server has no such table.
        StorageError: It cannot be reached, or refuses.
    """
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    base = f"{address.rstrip('/').removesuffix('/v1')}/v1"
    try:
        with httpx.Client(headers=headers, timeout=_SECONDS) as client:
            config = _document(client.get(f"{base}/config"), table)
            prefix = prefix_of(config)
            *namespace, name = table.split(".")
            place = "/".join(
                (
                    *((base, prefix) if prefix else (base,)),
                    f"namespaces/{quote(chr(0x1F).join(namespace), safe='')}",
                    f"tables/{quote(name, safe='')}",
                )
            )
            _document(client.get(place), table)
            start = time.perf_counter()
            answer = client.post(f"{place}/plan", json={})
            seconds = time.perf_counter() - start
            _document(answer, table)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _failed(f"{address} cannot be reached: {type(error).__name__}: {error}") from error
    files = answer.headers.get("X-Lakesieve-Files")
    if files is None:
        raise _failed(f"{address} is not a lakesieve server: its plans name no number of files")
    mode = (config.get("overrides") or {}).get("scan-planning-mode")
    return {
        "planned_by": mode or "whom the client is set to",
        "plans": any(str(one).endswith("/plan") for one in config.get("endpoints") or ()),
        "files": int(files.partition("/")[2]),
        "reasons": tuple(filter(None, answer.headers.get("X-Lakesieve-Reasons", "").split(","))),
        "milliseconds": round(seconds * 1000, 1),
    }


def _document(answer: httpx.Response, table: str) -> dict[str, Any]:
    """Return the document of an answer without an error."""
    try:
        found = answer.json()
    except ValueError:
        found = None
    if answer.status_code == 200 and isinstance(found, dict):
        return found
    said = found.get("error", {}).get("message") if isinstance(found, dict) else None
    if answer.status_code == 404:
        raise NotFoundError(
            f"{answer.url.host} has no table {table}: {said or 'no such resource'}",
            kind=ErrorKind.TABLE_NOT_FOUND,
            hint="Name it by its namespace and name, such as db.orders.",
        )
    raise _failed(f"{answer.url.host} answered with {answer.status_code}: {said or 'no reason'}")


def _failed(why: str) -> StorageError:
    return StorageError(
        f"The server at {why}.",
        kind=ErrorKind.STORAGE_FAILED,
        hint="Look at the server's log. If the server asks for a token, give --token.",
    )
