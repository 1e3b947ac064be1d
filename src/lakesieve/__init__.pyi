# The public names, and the modules that have them: what type checkers read, and `__init__.py` too.
# Old names, which are deprecated, are at the end.
from lakesieve import deletes as deletes
from lakesieve import engines as engines
from lakesieve.advisor.advise import advise as advise
from lakesieve.advisor.result import ColumnAdvice as ColumnAdvice
from lakesieve.advisor.result import TableAdvice as TableAdvice
from lakesieve.api import Lake as Lake
from lakesieve.api import Table as Table
from lakesieve.api import TableDeletes as TableDeletes
from lakesieve.api import connect as connect
from lakesieve.api import find_files as find_files
from lakesieve.api import last_pruning as last_pruning
from lakesieve.api import list_indexes as list_indexes
from lakesieve.api import open_index as open_index
from lakesieve.api import repair_index as repair_index
from lakesieve.api import table as table
from lakesieve.index.index import Index as Index
from lakesieve.index.key_results import KeyCheck as KeyCheck
from lakesieve.index.key_results import KeyPresence as KeyPresence
from lakesieve.index.result import BuildProgress as BuildProgress
from lakesieve.index.result import CloneResult as CloneResult
from lakesieve.index.result import CommitInfo as CommitInfo
from lakesieve.index.result import CompactionResult as CompactionResult
from lakesieve.index.result import FileMatches as FileMatches
from lakesieve.index.result import IndexInfo as IndexInfo
from lakesieve.index.result import RefreshResult as RefreshResult
from lakesieve.index.result import RowChange as RowChange
from lakesieve.index.result import TablePruning as TablePruning
from lakesieve.index.result import TradeOffInfo as TradeOffInfo
from lakesieve.index.result import VerifiedRows as VerifiedRows
from lakesieve.index.table_info import TableInfo as TableInfo
from lakesieve.index.table_info import TableStatus as TableStatus
from lakesieve.spark.api import clone_table as clone_table
from lakesieve.spark.api import disable as disable
from lakesieve.spark.api import enable as enable
from lakesieve.spark.api import trade_offs as trade_offs
from lakesieve.spark.commands.by_key import delete as delete
from lakesieve.spark.commands.by_key import upsert as upsert
from lakesieve.spark.commands.checks import check_references as check_references
from lakesieve.spark.commands.checks import check_unique as check_unique
from lakesieve.spark.commands.contains import KeyPresenceRows as KeyPresenceRows
from lakesieve.spark.commands.duplicates import Duplicates as Duplicates
from lakesieve.spark.commands.duplicates import duplicates as duplicates
from lakesieve.spark.commands.insert_new import insert_new as insert_new
from lakesieve.spark.commands.locate import KeyLocations as KeyLocations
from lakesieve.spark.commands.status import status as status
from lakesieve.spark.create import create_index as create_index
from lakesieve.spark.create import create_indexes as create_indexes
from lakesieve.spark.index import SparkIndex as SparkIndex
from lakesieve.spark.local import local_session as local_session
from lakesieve.spark.maintenance import maintain as maintain
from lakesieve.spark.refresh import refresh_indexes as refresh_indexes
from lakesieve.spark.session.shipping import ship as ship
from lakesieve.version import __version__ as __version__

Cloned = CloneResult
Compacted = CompactionResult
Contained = KeyPresence
ContainedRows = KeyPresenceRows
Refreshed = RefreshResult

__all__: list[str]  # noqa: PYI035 - the names above
