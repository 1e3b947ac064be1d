"""What importing the package and showing help loads, in fresh processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from lakesieve.spark.session.shipping import PACKAGES

ROOT = Path(__file__).parents[2]
WITHOUT_SPARK = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "py4j", "pandas"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
from lakesieve.cli import main
sys.argv = ["lakesieve", *sys.argv[1:]]
main()
"""


def run(*code_and_arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", *code_and_arguments], capture_output=True, text=True, check=False
    )


def test_the_package_loads_no_engine() -> None:
    """``import lakesieve`` leaves PySpark, pandas and the other heavy libraries unloaded."""
    done = run("import json, sys, lakesieve; print(json.dumps(sorted(sys.modules)))")
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}

    assert loaded & {"pyspark", "py4j", "pandas", "duckdb", "polars", "typer", "rich"} == set()


def test_workers_load_only_what_they_have() -> None:
    """Modules with functions for Spark's workers load nothing that ``ship`` does not send."""
    sources = (ROOT / "src").rglob("*.py")
    modules = [
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for path in sources
        if "in_workers(" in path.read_text()
    ]
    done = run(f"import json, sys, {', '.join(modules)}; print(json.dumps(sorted(sys.modules)))")
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}

    assert len(modules) > 3
    # of PySpark itself, or of this interpreter
    known = {*PACKAGES, "pyarrow", "numpy", "cloudpickle", "cython_runtime"}
    foreign = {name for name in loaded - known if not name.startswith("_")}
    assert foreign <= sys.stdlib_module_names


def test_every_public_name_resolves() -> None:
    """What ``lakesieve.__all__`` lists can be had without PySpark being loaded."""
    done = run(
        "import sys, lakesieve\n"
        "for name in lakesieve.__all__: getattr(lakesieve, name)\n"
        "print('pyspark' in sys.modules)"
    )

    assert done.stderr == ""
    assert done.stdout == "False\n"


def test_engines_load_at_their_first_use() -> None:
    """``ls.engines`` shows its modules to completion, and loads the one that is used."""
    done = run(
        "import json, sys, lakesieve as ls\n"
        "shown = [sorted(dir(ls)), sorted(dir(ls.engines))]\n"
        "before = 'polars' in sys.modules\n"
        "print(json.dumps([*shown, before, callable(ls.engines.polars.scan)]))"
    )

    package, engines, before, is_callable = json.loads(done.stdout)
    assert {"engines", "create_index", "__version__"} <= set(package)
    assert {"arrow", "duckdb", "polars", "pyiceberg"} <= set(engines)
    assert (before, is_callable) == (False, True)


def test_help_needs_no_spark() -> None:
    """A base install, without PySpark, shows the help."""
    done = run(WITHOUT_SPARK, "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert "explain" in done.stdout


def test_a_command_without_spark_says_what_to_install() -> None:
    """A base install answers a command that needs Spark with one line and status 1."""
    done = run(WITHOUT_SPARK, "refresh", "lake.tpch.lineitem")

    assert (done.returncode, done.stdout) == (1, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: PySpark is not installed.")
    assert 'pip install "lakesieve[spark]"' in last
