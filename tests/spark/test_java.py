"""The Java classes by themselves: in a bare JVM, without a Spark session."""

from __future__ import annotations

import base64
import random
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
import pytest
from py4j.protocol import Py4JJavaError
from tests.spark.file_sets import catalogue, file_group, keep_set

import lakesieve
from lakesieve.spark.extension.jar import bare_jvm, jar_sources
from lakesieve.spark.rule.sources import DELETE_JOINS, RULE, extension_of, scans_of
from lakesieve.spark.tables.hudi.spec import HUDI
from lakesieve.spark.tables.registry import formats_of
from lakesieve.spark.versions import janino
from lakesieve.spark.versions.janino import JavaSources, as_python
from lakesieve.spark.versions.spark_versions import SPARK_VERSIONS, spark_version_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VERSION = spark_version_of(pyspark.__version__)
FORMATS = formats_of(VERSION)
ROOT = Path(lakesieve.__file__).parent
TREES = 60
# the last class of each list that is tested here
IDENTITIES = JavaSources("spark/rule/IdentitySet")
ORDINALS = JavaSources(*RULE[: RULE.index("spark/rule/FileOrdinals") + 1])
PATHS = JavaSources("spark/tables/PathSet")
CATALYST = JavaSources(*RULE[: RULE.index("spark/rule/CatalystJson") + 1])
MEMBERS = JavaSources("spark/versions/PrivateMembers")


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    """What the sources need of a session, before a JVM with the jars of all formats."""
    with bare_jvm() as jvm:
        yield jvm


def sources_in(modules: Iterable[str]) -> list[JavaSources]:
    """The lists of sources that stand in modules."""
    values = [value for name in modules for value in vars(import_module(name)).values()]
    return [value for value in values if isinstance(value, JavaSources)]


def compiled_lists() -> list[JavaSources]:
    """All lists of sources that this version of Spark compiles."""
    lists = [JavaSources(*RULE), *map(scans_of, FORMATS)]
    lists += [sources for sources in map(extension_of, FORMATS) if sources is not None]
    lists.append(JavaSources(*jar_sources(FORMATS)))
    lists += sources_in(f"lakesieve.spark.tables.{spec.name}.table" for spec in FORMATS)
    more = ("lakesieve.spark.deletes.plan", "lakesieve.spark.build.after_write")
    return [*lists, JavaSources(*DELETE_JOINS), *sources_in(more)]


def test_everything_compiles(jvm: Any) -> None:
    """Each class compiles against the jars of this version; none in the tree is left out."""
    compiled = set()
    for sources in compiled_lists():
        files = [Path(str(file)) for file in sources._files]
        package = re.search(r"package ([\w.]+);", files[-1].read_text())
        assert package is not None
        sources.type(jvm, f"{package[1]}.{files[-1].stem}")
        compiled |= set(files)
    left_out = {file.stem for file in set(ROOT.rglob("*.java")) - compiled}

    of_hudi = {"HudiFiles", "HudiScans", "SliceGroups"}
    assert left_out == (set() if HUDI.runs_on(VERSION.name) else of_hudi)


def draw_tree(drawn: random.Random, catalogues: list[list[list[str]]], depth: int) -> Any:
    """A tree of answers as JSON, each leaf with the set of the paths that it keeps."""
    kind = drawn.random()
    if depth and kind < 0.6:
        args = [draw_tree(drawn, catalogues, depth - 1) for _ in range(drawn.randrange(4))]
        return {"op": drawn.choice(("and", "or")), "args": args}
    if kind < 0.65:
        return {"op": "none"}
    index = drawn.randrange(len(catalogues))
    count = sum(map(len, catalogues[index]))
    bits = [drawn.random() < 0.5 for _ in range(count)]
    packed = bytes(
        sum(bit << at for at, bit in enumerate(bits[start : start + 8]))
        for start in range(0, count, 8)
    )
    return {"index": index, "keep": base64.b64encode(packed).decode(), "bits": bits}


def keeps(tree: Any, catalogues: list[list[list[str]]], path: str) -> bool:
    """What a tree says of a file that some index covers."""
    if "index" in tree:
        listed = [name for names in catalogues[tree["index"]] for name in names]
        places = [at for at, name in enumerate(listed) if name == path]
        return not places or any(tree["bits"][at] for at in places)
    if tree["op"] == "none":
        return False
    answers = [keeps(arg, catalogues, path) for arg in tree["args"]]
    return all(answers) if tree["op"] == "and" else any(answers)


def test_a_keep_set_answers_as_its_tree(jvm: Any) -> None:
    """Uncovered files are kept; of others the tree of answers decides, as of its slow twin."""
    drawn = random.Random("trees")
    paths = [f"s3://b/ä b%/{number}\u2028.parquet" for number in range(12)]
    # each of them meets all trees, of catalogues that come and go
    alone = [file_group(jvm, [path]) for path in paths]
    several = []
    for _ in range(TREES):
        catalogues = [
            [drawn.sample(paths, drawn.randrange(8)) for _ in range(drawn.randrange(1, 3))]
            for _ in range(drawn.randrange(1, 4))
        ]
        tree = {"op": "and", "args": [draw_tree(drawn, catalogues, 2)]}
        made = keep_set(jvm, catalogues, tree)
        covered = {name for names in catalogues for one in names for name in one}

        assert [made.covers(path) for path in paths] == [path in covered for path in paths]
        expected = [path not in covered or keeps(tree, catalogues, path) for path in paths]
        assert [made.keeps(path) for path in paths] == expected, tree

        assert [made.mayKeep(group) for group in alone] == expected, tree
        some = drawn.sample(range(len(paths)), drawn.randrange(1, len(paths)))
        several.append((some, file_group(jvm, [paths[at] for at in some])))
        for some, group in several[-5:]:
            # twice: then what it has found out is remembered
            assert made.mayKeep(group) >= any(expected[at] for at in some), tree
            assert made.mayKeep(group) >= any(expected[at] for at in some), tree


def test_a_path_set_is_a_set(jvm: Any) -> None:
    """It grows, forgets nothing, and equals another of the same paths in any order."""
    made, same, less = (PATHS.new(jvm, "lakesieve.PathSet") for _ in range(3))
    paths = [f"file:/t/{number}.parquet" for number in range(100)]
    for path in paths + paths[:5]:
        made.add(path)
    for path in reversed(paths):
        same.add(path)
    for path in paths[1:]:
        less.add(path)

    assert (made.size(), less.size()) == (100, 99)
    assert all(made.contains(path) for path in paths)
    assert not made.contains("file:/t/100.parquet")
    assert not less.contains(paths[0])
    assert made.equals(same)
    assert (made.mark(), made.hashCode()) == (same.mark(), same.hashCode())
    assert not made.equals(less)
    assert not made.equals("no set")


def test_an_identity_set_knows_objects_not_values(jvm: Any) -> None:
    """Equal objects are two members, and one that is garbage is forgotten."""
    made = IDENTITIES.new(jvm, "lakesieve.IdentitySet")
    first, second = jvm._jvm.java.util.ArrayList(), jvm._jvm.java.util.ArrayList()
    assert first.equals(second)

    assert made.add(first)
    assert not made.add(first)
    assert not made.contains(second)
    assert made.add(second)
    assert made.contains(first)
    assert made.contains(second)


def test_catalogues_are_bounded_by_bytes(jvm: Any) -> None:
    """The least recently used go first; those of a request that is under way are not lost to it."""
    numbered = {
        f"c{number}": catalogue(jvm, [f"{number}-{at}" for at in range(50)]) for number in range(4)
    }
    size = numbered["c0"].bytes()
    used = jvm._jvm.java.util.HashMap

    def remember(*names: str, limit: int) -> set[str]:
        of_request = used()
        for name in names:
            of_request.put(name, numbered[name])
        ORDINALS.call(jvm, "remember", of_request, limit)
        return set(ORDINALS.call(jvm, "known").keySet())

    assert remember("c0", "c1", limit=10 * size) == {"c0", "c1"}
    assert ORDINALS.call(jvm, "bytes") == 2 * size
    assert remember("c2", limit=3 * size) == {"c0", "c1", "c2"}
    before = ORDINALS.call(jvm, "known")
    assert remember("c3", limit=2 * size) & {"c3"} == {"c3"}
    assert ORDINALS.call(jvm, "bytes") == 2 * size
    assert set(before.keySet()) == {"c0", "c1", "c2"}


def test_private_members_are_read_or_named(jvm: Any) -> None:
    """A private field has its value; of a missing member, class and name are in the message."""
    paths = PATHS.new(jvm, "lakesieve.PathSet")
    paths.add("file:/t/0.parquet")
    owner = PATHS.type(jvm, "lakesieve.PathSet")

    assert MEMBERS.call(jvm, "field", paths, owner, "size") == 1
    assert MEMBERS.call(jvm, "get", paths, "mark") == paths.mark()
    with pytest.raises(Py4JJavaError, match=r"lakesieve\.PathSet has no accessible field nothing"):
        MEMBERS.call(jvm, "field", paths, owner, "nothing")
    with pytest.raises(Py4JJavaError, match=r"lakesieve\.PathSet has no accessible method nothing"):
        MEMBERS.call(jvm, "get", paths, "nothing")


def test_adapters_find_their_private_members(jvm: Any) -> None:
    """The libraries of this version have all private members that the adapters use."""
    for spec in FORMATS:
        scans_of(spec).new(jvm, f"lakesieve.{spec.scans}").check()


def test_an_adapter_that_misses_a_member_is_left_out(jvm: Any) -> None:
    """The search goes on with the other adapters, and says which one is missing and why."""
    adapter = JavaSources("spark/BrokenScans", root=Path(__file__).parents[1])
    sources = JavaSources(*RULE)
    sources._files += adapter._files
    sources._names += adapter._names
    broken = sources.new(jvm, "lakesieve.BrokenScans")
    adapters = jvm._jvm.java.lang.reflect.Array.newInstance(broken.getClass().getSuperclass(), 1)
    adapters[0] = broken
    search = JavaSources(*RULE).new(jvm, "lakesieve.ScanSearch", adapters)
    plan = jvm._jvm.org.apache.spark.sql.catalyst.plans.logical.OneRowRelation()

    assert search.scans(plan).size() == 0
    (reason,) = search.unavailable()
    assert reason.startswith("BrokenScans is not available")
    assert "java.lang.String has no accessible field nothing" in reason


def test_placeholders_are_filled_in(tmp_path: Path) -> None:
    """Each version has a value for every placeholder; an unknown one is refused by name."""
    file = tmp_path / "Broken.java"
    file.write_text("import ${sql}.Dataset;")
    assert len({frozenset(version.java) for version in SPARK_VERSIONS}) == 1
    assert janino._source_of(file, VERSION) == f"import {VERSION.java['sql']}.Dataset;"

    file.write_text("import ${other}.Dataset;")
    with pytest.raises(TypeError, match=r"Broken\.java: no placeholder \$\{other\}"):
        janino._source_of(file, VERSION)


def test_conditions_become_json(jvm: Any) -> None:
    """Columns of the leaf are compared with literals of their type; all else matches every row."""
    catalyst = jvm._jvm.org.apache.spark.sql.catalyst.expressions
    types = jvm._jvm.org.apache.spark.sql.types
    to_seq = jvm._jvm.org.apache.spark.api.python.PythonUtils.toSeq

    def column(name: str) -> Any:
        ids, empty = catalyst.NamedExpression.newExprId(), to_seq(jvm._jvm.java.util.ArrayList())
        kind, metadata = types.DataType.fromDDL("int"), types.Metadata.empty()
        return catalyst.AttributeReference(name, kind, True, metadata, ids, empty.toSeq())

    known, other = column("a"), column("b")
    listed = jvm._jvm.java.util.ArrayList()
    listed.add(known)
    attributes = CATALYST.call(jvm, "attributes", to_seq(listed).iterator())
    letter = jvm._jvm.org.apache.spark.unsafe.types.UTF8String.fromString("x")
    five = catalyst.Literal(5, types.DataType.fromDDL("int"))
    text = catalyst.Literal(letter, types.DataType.fromDDL("string"))
    less = catalyst.LessThan(five, known)
    conditions = {
        "equal": catalyst.EqualTo(known, five),
        "mirrored": less,
        "not": catalyst.Not(catalyst.IsNull(known)),
        "flat": catalyst.And(less, catalyst.And(less, less)),
        "foreign": catalyst.EqualTo(other, five),
        "type": catalyst.EqualTo(known, text),
    }
    made = {
        name: as_python(jvm, CATALYST.call(jvm, "convert", condition, attributes))
        for name, condition in conditions.items()
    }

    more = {"op": ">", "col": ["a"], "type": "int", "value": "5"}
    assert made == {
        "equal": more | {"op": "="},
        "mirrored": more,
        "not": {"op": "not", "arg": {"op": "isnull", "col": ["a"]}},
        "flat": {"op": "and", "args": [more, more, more]},
        "foreign": {"op": "unknown", "text": "EqualTo"},
        "type": {"op": "unknown", "text": "EqualTo"},
    }
