"""Read the scans of tables in Spark's plans: conditions, joins, and measurements."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakesieve.advisor.condition import read_condition, read_iceberg_filters
from lakesieve.advisor.described_keys import DescribedKeys
from lakesieve.advisor.printed_expressions import ATTRIBUTE, split_list
from lakesieve.errors import LakesieveError
from lakesieve.predicate.expression import And, Expr
from lakesieve.storage import normalized
from lakesieve.tables.names import parse_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lakesieve.tables import TableReader

_FILES = ("number of result data files", "number of files read")
_ROWS = "number of output rows"
# nodes that may be between a scan and the conditions on its own columns
_ABOVE_SCANS = ("WholeStageCodegen", "InputAdapter", "ColumnarToRow", "Project", "Filter")
_JOIN = re.compile(r"\w+Join \[(?P<left>[^\]]*)\], \[(?P<right>[^\]]*)\], (?P<kind>\w+)")
_ALIAS = re.compile(rf"(?P<of>{ATTRIBUTE}) AS [^\s#]+#(?P<id>\d+)")
_OUTPUT = re.compile(r"(?<![^\s#(),\[\]])(?P<name>[^\s#(),\[\]]+)#(?P<id>\d+)")
_ICEBERG = "filters="
_ICEBERG_END = re.compile(r",\s*(?:runtimeFilters|groupedBy)=")
# how a copy-on-write command finds the files whose rows it changes
_REWRITES = "dynamicpruningexpression(_file#"
_LOCATION = re.compile(r"\[(?P<first>[^,\]]+)")
_DEEPEST = 500
# most aliases in a chain that a column of a scan may have
_LONGEST_ALIASES = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownTable:
    """A table, with the names that plans may use for it."""

    name: str  # the identifier in lower case, with its catalog; empty if the table has only a path
    location: str  # its normalized root
    kinds: Mapping[tuple[str, ...], str]  # key kinds of its columns, by path
    keys: DescribedKeys = field(default_factory=DescribedKeys)  # its keys that are no columns

    def is_called(self, identifier: str, location: str) -> bool:
        """Return whether a scan reads this table."""
        called = identifier.replace("`", "").lower()
        if called and self.name and called in {self.name, f"spark_catalog.{self.name}"}:
            return True
        place = location.removesuffix("...")
        try:
            place = normalized(place) if place else ""
        except LakesieveError:
            return False
        if location.endswith("..."):
            return bool(place) and self.location.startswith(place)
        return bool(place) and place.rstrip("/") == self.location.rstrip("/")


def known_table(table: TableReader, keys: DescribedKeys | None = None) -> KnownTable:
    """Return a table with the names that plans use for it.

    Without ``keys``, conditions on expressions, lists and maps are not read.
    """
    name = parse_name(table.name)
    columns = table.columns(table.version())
    return KnownTable(
        name="" if name.format is not None else ".".join(name.identifier()).lower(),
        location=normalized(table.location),
        kinds={path: column.kind for path, column in columns.items()},
        keys=keys or DescribedKeys(),
    )


@dataclass(slots=True, kw_only=True, eq=False)
class TableScan:
    """A scan of a known table in a plan."""

    table: int
    # conditions on the table's columns that hold for every needed row
    conditions: list[Expr] = field(default_factory=list)
    # columns that a join compares, each with the metric of the row count of the join's other side,
    # if there is one
    joined: list[tuple[tuple[str, ...], int | None]] = field(default_factory=list)
    # the metric of the number of data files that were read, if there is one
    files: int | None = None
    # true if it reads the files that another scan of the same plan found, to rewrite them
    rewrites: bool = False
    text: list[str] = field(default_factory=list)  # the conditions as the plan prints them

    @property
    def condition(self) -> Expr:
        """Conjunction of all conditions."""
        return And(args=tuple(self.conditions))

    @property
    def metrics(self) -> set[int]:
        """Metrics that count something about the scan."""
        metrics = (self.files, *(rows for _, rows in self.joined))
        return {metric for metric in metrics if metric is not None}


def scans_of(plan: Mapping[str, Any], tables: Sequence[KnownTable]) -> list[TableScan]:
    """Find the scans of tables in a plan."""
    reader = _ScanCollector(tables)
    reader.visit(plan, [], 0)
    for node in reader.joins:
        reader.join(node)
    return reader.scans


class _ScanCollector:
    def __init__(self, tables: Sequence[KnownTable]) -> None:
        self._tables = tables
        self.scans: list[TableScan] = []
        self.joins: list[Mapping[str, Any]] = []
        # columns of scans, and their aliases, by their numbers in the plan
        self._columns: dict[str, tuple[TableScan, tuple[str, ...]]] = {}
        self._aliases: list[tuple[str, str]] = []

    def visit(self, node: Mapping[str, Any], filters: list[str], depth: int) -> None:
        """Visit a node and its children, with the conditions that hold for the node's rows."""
        if depth > _DEEPEST:
            return
        name, text = str(node.get("nodeName", "")), str(node.get("simpleString", ""))
        children = node.get("children") or []
        if name.startswith("Filter"):
            filters = [*filters, text.removeprefix("Filter ")]
        elif not name.startswith(_ABOVE_SCANS):
            self._scan(node, name, text, filters)
            filters = []
        if name.startswith("Project"):
            self._aliases += [(m["id"], m["of"]) for m in _ALIAS.finditer(text)]
        if _JOIN.match(text):
            self.joins.append(node)
        for child in children:
            self.visit(child, filters, depth + 1)

    def _scan(self, node: Mapping[str, Any], name: str, text: str, filters: list[str]) -> None:
        if not name.startswith(("BatchScan", "Scan", "FileScan")):
            return
        metadata = node.get("metadata") or {}
        place = _LOCATION.search(str(metadata.get("Location", "")).partition(")")[2])
        location = place["first"] if place else ""
        # "BatchScan lake.db.t", "Scan parquet spark_catalog.db.t"
        identifier = name.rsplit(maxsplit=1)[-1] if " " in name.strip() else ""
        for number, table in enumerate(self._tables):
            if table.is_called(identifier, location):
                self._found(node, number, text, filters)
                return

    def _found(self, node: Mapping[str, Any], number: int, text: str, filters: list[str]) -> None:
        table = self._tables[number]
        scan = TableScan(table=number, files=_metric(node, _FILES), rewrites=_REWRITES in text)
        for condition in filters:
            scan.conditions.append(read_condition(condition, table.kinds, table.keys))
            scan.text.append(re.sub(r"#\d+L?", "", condition))
        iceberg = _iceberg_filters(text)
        if iceberg:
            scan.conditions.append(read_iceberg_filters(iceberg, table.kinds))
            if not filters:
                scan.text.append(iceberg)
        partitions = str((node.get("metadata") or {}).get("PartitionFilters", "[]"))
        for part in split_list(partitions.removeprefix("[").removesuffix("]")):
            scan.conditions.append(read_condition(part, table.kinds, table.keys))
            scan.text.append(re.sub(r"#\d+L?", "", part))
        output = text.partition("[")[2].partition("]")[0]
        paths_by_name = {path[0].lower(): path for path in table.kinds if len(path) == 1}
        for column in _OUTPUT.finditer(output):
            path = paths_by_name.get(column["name"].lower())
            if path is not None:
                self._columns[column["id"]] = (scan, path)
        self.scans.append(scan)

    def join(self, node: Mapping[str, Any]) -> None:
        """Note the columns that a join compares. All scans must have been visited."""
        match = _JOIN.match(str(node["simpleString"]))
        children = node.get("children") or []
        if match is None or len(children) != 2:
            return
        aliases = dict(self._aliases)
        for side, other in (("left", 1), ("right", 0)):
            rows = _rows_of(children[other])
            for key in split_list(match[side]):
                column = self._resolved(key, aliases)
                if column is not None:
                    column[0].joined.append((column[1], rows))

    def _resolved(
        self, attribute: str, aliases: Mapping[str, str]
    ) -> tuple[TableScan, tuple[str, ...]] | None:
        for _ in range(min(len(aliases) + 1, _LONGEST_ALIASES)):
            match = _OUTPUT.fullmatch(attribute.removesuffix("L"))
            if match is None:
                return None
            if match["id"] in self._columns:
                return self._columns[match["id"]]
            if match["id"] not in aliases:
                return None
            attribute = aliases[match["id"]]
        return None


def _iceberg_filters(text: str) -> str:
    """Return the filters in the text of an Iceberg scan."""
    start = text.find(_ICEBERG)
    end = None if start < 0 else _ICEBERG_END.search(text, start + len(_ICEBERG))
    return "" if end is None else text[start + len(_ICEBERG) : end.start()]


def _rows_of(node: Mapping[str, Any]) -> int | None:
    """Return the metric of a node's row count, or of the nearest node below that has one."""
    for below in _descending(node):
        metric = _metric(below, (_ROWS,))
        if metric is not None:
            return metric
    return None


def _descending(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    waiting = [node]
    while waiting:
        at = waiting.pop()
        yield at
        waiting.extend(reversed(at.get("children") or []))


def _metric(node: Mapping[str, Any], names: Sequence[str]) -> int | None:
    for metric in node.get("metrics") or []:
        if metric.get("name") in names:
            number = metric.get("accumulatorId")
            return number if isinstance(number, int) else None
    return None
