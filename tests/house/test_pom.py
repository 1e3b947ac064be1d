"""What the JVM module is compiled against is what sessions run with."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from lakesieve.spark.tables.registry import FORMATS
from lakesieve.spark.versions.spark_versions import SPARK_VERSIONS

ROOT = Path(__file__).resolve().parents[2]
MAVEN = "{http://maven.apache.org/POM/4.0.0}"
POM = ET.parse(ROOT / "jvm" / "pom.xml").getroot()
PROFILES = {
    str(profile.findtext(f"{MAVEN}id")).removeprefix("spark-"): profile
    for profile in POM.iter(f"{MAVEN}profile")
}
# a part of Delta that its own jar brings
WITHOUT_RUNTIME = ":delta-storage:"


def properties_of(version: str) -> dict[str, str]:
    """The properties of the POM with the profile for a version of Spark."""
    return {
        entry.tag.removeprefix(MAVEN): entry.text or ""
        for element in (POM, PROFILES[version])
        for entry in element.findall(f"{MAVEN}properties/*")
    }


def packages_of(version: str) -> set[str]:
    """The dependencies of the POM with that profile, as Spark names packages."""
    properties = properties_of(version)
    return {
        re.sub(
            r"\$\{([^}]+)\}",
            lambda match: properties[match[1]],
            ":".join(
                str(dependency.findtext(f"{MAVEN}{part}"))
                for part in ("groupId", "artifactId", "version")
            ),
        )
        for element in (POM, PROFILES[version])
        for dependency in element.findall(f"{MAVEN}dependencies/{MAVEN}dependency")
    }


def test_each_version_has_a_profile() -> None:
    """Each jar that a version of Spark takes has a profile, and each profile such a version."""
    assert {version.jar for version in SPARK_VERSIONS} == set(PROFILES)


@pytest.mark.parametrize("version", sorted(PROFILES))
def test_formats_agree(version: str) -> None:
    """A profile names exactly the runtimes of table formats that sessions of its Spark load."""
    groups = {p.partition(":")[0] for f in FORMATS.values() for p in (f.packages or {}).values()}
    compiled = {
        package
        for package in packages_of(version)
        if package.partition(":")[0] in groups and WITHOUT_RUNTIME not in package
    }
    loaded = {f.packages[version] for f in FORMATS.values() if f.packages and version in f.packages}
    assert compiled == loaded


@pytest.mark.parametrize("version", sorted(PROFILES))
def test_spark_agrees(version: str) -> None:
    """A profile compiles against a release of the Spark that it is named for."""
    assert properties_of(version)["spark.full"].startswith(f"{version}.")
