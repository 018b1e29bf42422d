"""What may not be built is refused with a line that says why."""

import pytest

from facet_dagster.environment.check import manifest_problems, materials_problems, path_problems
from facet_dagster.records.environment import ExpectedProperty, Generator, InlineFile, Manifest, Materials, Service


def test_a_sound_plan_and_its_materials_have_no_problems(manifest: Manifest, materials: Materials) -> None:
    assert manifest_problems(manifest) == []
    assert materials_problems(materials, manifest) == []


@pytest.mark.parametrize("path", ["/app/a b.csv", "/etc/nginx/nginx.conf", "/home/agent/.ssh/config", "/app/out/"])
def test_paths_within_the_roots_are_allowed(path: str) -> None:
    assert path_problems(path) == []


@pytest.mark.parametrize(
    "path",
    [
        *("app/a.csv", "/root/x", "/app/../etc/passwd", "/app/*.log", "/app//x", "/tests/x", "/solution/solve.sh"),
        *("/app/solve.sh", "/opt/facet-build/x", "/usr/local/bin/facet-entrypoint", "/application/x", "/app/a\nb"),
    ],
)
def test_other_paths_are_refused(path: str) -> None:
    assert len(path_problems(path)) == 1


def test_duplicates_are_named(materials: Materials, manifest: Manifest) -> None:
    twice = materials.model_copy(
        update={
            "files": materials.files * 2,
            "generators": materials.generators * 2,
            "properties": manifest.properties * 2,
        }
    )
    assert materials_problems(twice, manifest) == [
        "file /app/a.csv appears 2 times",
        "generator history appears 2 times",
        "property P1 appears 2 times",
    ]


def test_a_planned_service_may_not_be_dropped_and_no_property_invented(
    materials: Materials, manifest: Manifest
) -> None:
    service = Service(name="web", command="python3 -m http.server 8000", health="curl -fs localhost:8000")
    plan = manifest.model_copy(update={"services": [service]})
    invented = ExpectedProperty(id="P9", description="d", probe="test -s a.csv")
    made = materials.model_copy(update={"properties": [*materials.properties, invented]})
    assert materials_problems(made, plan) == ["property P9 is not planned", "planned service web is missing"]


@pytest.mark.parametrize("probe", ["true", " exit 0 ", ""])
def test_a_probe_must_check_something(manifest: Manifest, probe: str) -> None:
    plan = manifest.model_copy(update={"properties": [ExpectedProperty(id="P1", description="d", probe=probe)]})
    assert manifest_problems(plan) == ["probe of P1 checks nothing"]


@pytest.mark.parametrize(
    "name", ["nginx; curl evil", "--allow-unauthenticated", "$(id)", "a b", "https://example.org/x.deb", "`id`"]
)
def test_only_package_names_reach_the_dockerfile(manifest: Manifest, name: str) -> None:
    assert manifest_problems(manifest.model_copy(update={"apt_packages": [name]})) == [
        f"{name!r} is not a package name"
    ]


@pytest.mark.parametrize("name", ["pandas==2.2.3", "libpq-dev", "g++", "uvicorn[standard]>=0.3", "python3-bs4"])
def test_ordinary_package_names_pass(manifest: Manifest, name: str) -> None:
    assert manifest_problems(manifest.model_copy(update={"pip_packages": [name]})) == []


def test_too_much_inline_text_and_broken_programs(materials: Materials, manifest: Manifest) -> None:
    bad = materials.model_copy(
        update={
            "files": [InlineFile(path="/app/a.csv", content="x" * 300_000)],
            "generators": [Generator(name="history", program="def (:\n")],
        }
    )
    too_large, broken = materials_problems(bad, manifest)
    assert "300000 bytes" in too_large
    assert broken.startswith("history: the program is not valid Python")
