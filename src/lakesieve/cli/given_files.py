"""Files of keys and rows: named by a path, or read from standard input."""

from __future__ import annotations

import csv
import io
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

STDIN = "-"
_PARQUET = b"PAR1"


def check_file(path: str, option: str) -> None:
    """Insist that a local file or folder is there.

    Raises:
        NotFoundError: It is not.
    """
    local = path.removeprefix("file://")
    if path != STDIN and "://" not in local and not Path(local).exists():
        raise NotFoundError(
            f"{path} cannot be read: there is no such file.",
            kind=ErrorKind.OBJECT_NOT_FOUND,
            hint=f"Check the path that {option} names.",
        )


@contextmanager
def given_file(path: str, option: str, key: str | None = None) -> Iterator[str]:
    """Return the path of a file of keys or rows; for ``-``, of a copy of standard input.

    Standard input is a Parquet file, or CSV with a header line. Where the only key column is
    ``key``, it may also be one key a line without a header.

    Raises:
        NotFoundError: There is no such file.
        InvalidInputError: Standard input is empty, or has no column for the keys.
    """
    check_file(path, option)
    if path != STDIN:
        yield path
        return
    if sys.stdin.isatty():
        sys.stderr.write("Reading standard input; Ctrl+D ends it.\n")
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise InvalidInputError(
            f"{option} - found nothing on standard input.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint=f"Send CSV with a header line, such as: cat keys.csv | lakesieve ... {option} -",
        )
    with tempfile.TemporaryDirectory(prefix="lakesieve-") as folder:
        if content.startswith(_PARQUET):
            copy = Path(folder) / "standard-input.parquet"
            copy.write_bytes(content)
        else:
            copy = Path(folder) / "standard-input.csv"
            _write_csv(copy, content.decode("utf-8-sig"), option, key)
        yield str(copy)


def _write_csv(copy: Path, text: str, option: str, key: str | None) -> None:
    """Write CSV as it is, and add the header line to one key a line."""
    first = next(csv.reader(io.StringIO(text)), [])
    if key is None or key.lower() in (name.strip().lower() for name in first):
        header = ""
    elif len(first) > 1:
        raise InvalidInputError(
            f"Standard input has no column {key}; its columns are {', '.join(first)}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint=f"Send {option} CSV whose header line has the column {key}, or one key a line.",
        )
    else:
        name = key.replace('"', '""')
        header = f'"{name}"\n'
    copy.write_text(header + text, encoding="utf-8", newline="")
