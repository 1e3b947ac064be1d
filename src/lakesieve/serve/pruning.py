"""What Iceberg itself leaves out of a scan: by partitions, and by minima and maxima."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.expressions.visitors import (
    _ExpressionEvaluationVisitor,
    _InclusiveMetricsEvaluator,
    bind,
    inclusive_projection,
    manifest_evaluator,
    visit,
)
from pyiceberg.schema import Schema

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.manifest import ManifestFile
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.types import StructType

__all__ = ["MetadataPruner"]


class MetadataPruner:
    """Judges manifests, partitions and files by one filter.

    Args:
        expression: The filter.
        schema: The columns to which it is bound.
        specs: The partition specs, by id.
        partition_types: The types of their partitions, by id.
    """

    def __init__(
        self,
        expression: BooleanExpression,
        schema: Schema,
        specs: dict[int, PartitionSpec],
        partition_types: dict[int, StructType],
    ) -> None:
        self.keeps_all = isinstance(expression, AlwaysTrue)
        self._expression = expression
        self._schema = schema
        self._specs = specs
        self._types = partition_types
        self._projected: dict[int, BooleanExpression] = {}
        self._manifests: dict[int, Any] = {}
        self._partitions: dict[int, Any] = {}
        self._metrics = _InclusiveMetricsEvaluator(schema, expression)

    def _projection(self, spec_id: int) -> BooleanExpression:
        """What the filter says of partitions."""
        if spec_id not in self._projected:
            try:
                project = inclusive_projection(self._schema, self._specs[spec_id])
                self._projected[spec_id] = project(self._expression)
            except (ValueError, TypeError, KeyError):
                # a spec over columns that this schema does not have
                self._projected[spec_id] = AlwaysTrue()
        return self._projected[spec_id]

    def can_hold(self, manifest: ManifestFile) -> bool:
        """Whether a manifest can list a file with a match.

        Args:
            manifest: The manifest.
        """
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
        """Whether files of a partition can hold a match.

        Args:
            spec_id: Its spec.
            partition: As PyIceberg has it.
        """
        projected = self._projection(spec_id)
        if isinstance(projected, AlwaysTrue):
            return True
        if spec_id not in self._partitions:
            fields = Schema(*self._types[spec_id].fields)
            self._partitions[spec_id] = bind(fields, projected, case_sensitive=True)
        return bool(visit(self._partitions[spec_id], _PartitionVisitor(partition)))

    def has_match(self, file: Any) -> bool:
        """Whether a file can hold a match by its own statistics.

        Args:
            file: A data file or delete file.
        """
        return self.keeps_all or bool(self._metrics.eval(file))


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
