"""What Iceberg itself leaves out of a scan: by partitions, and by minima and maxima."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.expressions.visitors import (
    IN_PREDICATE_LIMIT,
    _ExpressionEvaluationVisitor,
    _InclusiveMetricsEvaluationVisitor,
    bind,
    inclusive_projection,
    manifest_evaluator,
    rewrite_not,
    visit,
)
from pyiceberg.schema import Schema

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.manifest import ManifestFile
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.types import StructType


class MetadataPruner:
    """Judges manifests, partitions and files by one filter.

    Args:
        expression: The filter.
        schema: The columns to which it is bound.
        specs: The partition specs, by id.
        partition_types: The types of their partitions, by id.
        nodes: How many expressions the filter has.
        judgements: How many expressions are compared with the statistics of files in all; later
            files are kept as they are.
    """

    def __init__(
        self,
        expression: BooleanExpression,
        schema: Schema,
        specs: dict[int, PartitionSpec],
        partition_types: dict[int, StructType],
        *,
        nodes: int = 1,
        judgements: int | None = None,
    ) -> None:
        self._nodes = nodes
        self._judgements = judgements
        self.gave_up = False
        """Whether a file was kept because the filter is too large for so many files."""
        self.keeps_all = isinstance(expression, AlwaysTrue)
        self._expression = expression
        self._schema = schema
        self._specs = specs
        self._types = partition_types
        self._projected: dict[int, BooleanExpression] = {}
        self._manifests: dict[int, Any] = {}
        self._partitions: dict[int, Any] = {}
        self._bound = bind(schema, rewrite_not(expression), case_sensitive=True)

    def _projection(self, spec_id: int) -> BooleanExpression:
        """What the filter says of partitions."""
        if spec_id not in self._projected:
            try:
                project = inclusive_projection(self._schema, self._specs[spec_id])
                self._projected[spec_id] = project(self._expression)
            except (ValueError, TypeError, KeyError, ArithmeticError, struct.error):
                # a spec over columns that this schema does not have, or a literal in no partition
                self._projected[spec_id] = AlwaysTrue()
        return self._projected[spec_id]

    def can_hold(self, manifest: ManifestFile) -> bool:
        """Whether a manifest can list a file with a match."""
        if not (manifest.has_added_files() or manifest.has_existing_files()):
            return False
        spec_id = manifest.partition_spec_id
        projected = self._projection(spec_id)
        if isinstance(projected, AlwaysTrue):
            return True
        if spec_id not in self._manifests:
            spec = self._specs[spec_id]
            self._manifests[spec_id] = manifest_evaluator(spec, self._schema, projected)
        return bool(self._manifests[spec_id](manifest))

    def has_partition(self, spec_id: int, partition: Any) -> bool:
        """Whether files of a partition can hold a match."""
        projected = self._projection(spec_id)
        if isinstance(projected, AlwaysTrue):
            return True
        if not self._has_time():
            return True
        if spec_id not in self._partitions:
            fields = Schema(*self._types[spec_id].fields)
            self._partitions[spec_id] = bind(fields, projected, case_sensitive=True)
        return bool(visit(self._partitions[spec_id], _PartitionVisitor(partition)))

    def has_match(self, file: Any) -> bool:
        """Whether a file can hold a match by its own statistics."""
        if self.keeps_all or file.record_count < 0:
            # old writers do not know how many rows a file has
            return True
        if file.record_count == 0:
            return False
        if not self._has_time():
            return True
        try:
            return bool(visit(self._bound, _StatisticsVisitor(file)))
        except (ValueError, ArithmeticError, struct.error):
            # the bytes of the bound are not a value of the column's type
            return True

    def _has_time(self) -> bool:
        """Whether the filter may be compared with one more file; counts it."""
        if self._judgements is None:
            return True
        self._judgements -= self._nodes
        if self._judgements < 0:
            self.gave_up = True
            return False
        return True


class _PartitionVisitor(_ExpressionEvaluationVisitor):
    """Evaluates on one partition, in the order of values that Iceberg for Java has.

    There nulls come first and NaN comes last, so that a file of Spark's, for which NaN is greater
    than all numbers, is not left out.
    """

    def visit_less_than(self, term: Any, literal: Any) -> bool:
        """Whether a value is less than a literal."""
        return _is_less(term.eval(self.struct), literal.value)

    def visit_less_than_or_equal(self, term: Any, literal: Any) -> bool:
        """Whether a value is not greater than a literal."""
        value = term.eval(self.struct)
        return value == literal.value or _is_less(value, literal.value)

    def visit_greater_than(self, term: Any, literal: Any) -> bool:
        """Whether a value is greater than a literal."""
        value = term.eval(self.struct)
        return value != literal.value and not _is_less(value, literal.value)

    def visit_greater_than_or_equal(self, term: Any, literal: Any) -> bool:
        """Whether a value is not less than a literal."""
        return not _is_less(term.eval(self.struct), literal.value)


def _is_less(value: Any, literal: Any) -> bool:
    # of NaN, which comes last, nothing is less
    return value is None or bool(value < literal)


class _StatisticsVisitor(_InclusiveMetricsEvaluationVisitor):
    """Evaluates on the statistics of one file, where Iceberg for Java goes further than PyIceberg.

    There a file with one value, of which none is null or NaN, is left out where that is excluded.
    """

    def _may_contain_null(self, field_id: int) -> bool:
        return self.null_counts.get(field_id) != 0

    def _contains_nulls_only(self, field_id: int) -> bool:
        values, nulls = self.value_counts.get(field_id), self.null_counts.get(field_id)
        return values is not None and values == nulls

    def _contains_nans_only(self, field_id: int) -> bool:
        values, nans = self.value_counts.get(field_id), self.nan_counts.get(field_id)
        return values is not None and values == nans

    def _bounds(self, term: Any) -> tuple[Any, Any]:
        field = term.ref().field
        bounds = (known.get(field.field_id) for known in (self.lower_bounds, self.upper_bounds))
        lower, upper = (
            None if bound is None else from_bytes(field.field_type, bound) for bound in bounds
        )
        return lower, upper

    def _only_value(self, term: Any) -> Any:
        """The one value of a column; ``None`` where it may have several, null or NaN."""
        field_id = term.ref().field.field_id
        lower, upper = self._bounds(term)
        if self._may_contain_null(field_id) or lower is None or lower != upper:
            return None
        # zero has two signs
        if isinstance(lower, float) and (lower == 0 or self.nan_counts.get(field_id) != 0):
            return None
        return lower

    def visit_not_equal(self, term: Any, literal: Any) -> bool:
        """Whether a file can hold another value."""
        value = self._only_value(term)
        return value is None or value != literal.value

    def visit_not_in(self, term: Any, literals: Any) -> bool:
        """Whether a file can hold another value."""
        value = self._only_value(term)
        return value is None or value not in literals

    def visit_less_than(self, term: Any, literal: Any) -> bool:
        """Whether a file can hold a smaller value."""
        # that zero has two signs is for the reader to mind
        if _is_zero(literal):
            return bool(super().visit_less_than_or_equal(term, literal))
        return bool(super().visit_less_than(term, literal))

    def visit_greater_than(self, term: Any, literal: Any) -> bool:
        """Whether a file can hold a greater value."""
        if _is_zero(literal):
            return bool(super().visit_greater_than_or_equal(term, literal))
        return bool(super().visit_greater_than(term, literal))

    def visit_in(self, term: Any, literals: Any) -> bool:
        """Whether a value lies between the bounds."""
        field_id = term.ref().field.field_id
        if self._contains_nulls_only(field_id) or self._contains_nans_only(field_id):
            return False
        lower, upper = self._bounds(term)
        if len(literals) > IN_PREDICATE_LIMIT or lower is None or self._is_nan(lower):
            return True
        return any(lower <= value and (upper is None or not upper < value) for value in literals)

    def visit_starts_with(self, term: Any, literal: Any) -> bool:
        """Whether texts between the bounds can begin so."""
        lower, _ = self._bounds(term)
        nothing = self._contains_nulls_only(term.ref().field.field_id)
        return not nothing and (lower is None or bool(super().visit_starts_with(term, literal)))

    def visit_not_starts_with(self, term: Any, literal: Any) -> bool:
        """Whether not all texts between the bounds begin so."""
        return self._may_contain_null(term.ref().field.field_id) or bool(
            super().visit_not_starts_with(term, literal)
        )


def _is_zero(literal: Any) -> bool:
    return isinstance(literal.value, float) and literal.value == 0
