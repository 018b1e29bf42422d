"""The Dockerfile and its context say exactly what the materials ask for."""

from facet_dagster.environment.dockerfile import build_context, render_dockerfile
from facet_dagster.records.environment import InlineFile, Materials, Service

BARE = Materials(
    apt_packages=[], pip_packages=[], files=[], generators=[], setup_commands=[], services=[], properties=[]
)


def instructions(dockerfile: str) -> list[str]:
    """Dockerfile instructions with continuation lines joined."""
    joined = dockerfile.replace("\\\n", " ")
    return [" ".join(line.split()) for line in joined.splitlines() if line.strip() and not line.startswith("#")]


def test_a_bare_environment_has_no_step_too_many() -> None:
    assert instructions(render_dockerfile(BARE, standalone=False)) == [
        "ARG BASE_IMAGE",
        "FROM ${BASE_IMAGE}",
        "RUN cd /app && chown -R agent:agent /app /home/agent && rm -rf /opt/facet-build",
        "WORKDIR /app",
        'CMD ["sleep", "infinity"]',
    ]
    assert build_context(BARE) == ()


def test_generators_and_setup_run_in_the_step_that_removes_them(materials: Materials) -> None:
    lines = instructions(render_dockerfile(materials, standalone=False))
    assert lines[2:5] == [
        "COPY files/ /",
        "COPY build/ /opt/facet-build/",
        "RUN cd /app && PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 python3 /opt/facet-build/history.py"
        " && bash -euxo pipefail /opt/facet-build/setup.sh && chown -R agent:agent /app /home/agent"
        " && rm -rf /opt/facet-build",
    ]


def test_packages_are_quoted_and_build_arguments_leave_no_environment() -> None:
    materials = BARE.model_copy(update={"apt_packages": ["nginx", "gcc"], "pip_packages": ["pandas>=2", "rich[x]"]})
    dockerfile = render_dockerfile(materials, standalone=False)
    lines = instructions(dockerfile)
    assert "ARG PIP_CERT" in lines and "ENV" not in dockerfile
    assert any("install -y --no-install-recommends gcc nginx && rm -rf" in line for line in lines)
    assert lines[-4].endswith("--root-user-action=ignore 'pandas>=2' 'rich[x]'")


def test_the_exported_dockerfile_starts_from_a_public_image() -> None:
    exported = render_dockerfile(BARE)
    local = render_dockerfile(BARE, standalone=False)
    lines = instructions(exported)
    assert lines[:2] == ["ARG BASE_IMAGE=debian:bookworm-slim", "FROM ${BASE_IMAGE}"]
    assert instructions(local)[2:] == lines[-3:]


def test_the_context_mirrors_paths_and_modes(materials: Materials) -> None:
    tool = InlineFile(path="/usr/local/bin/check", content="#!/bin/sh\n", executable=True)
    context = build_context(materials.model_copy(update={"files": [*materials.files, tool]}))
    assert {entry.path: entry.mode for entry in context} == {
        "build/history.py": 0o644,
        "build/setup.sh": 0o644,
        "files/app/a.csv": 0o644,
        "files/usr/local/bin/check": 0o755,
    }


def test_services_come_with_an_entry_point() -> None:
    service = Service(name="api", command="python3 -m http.server 8000", health="curl -fs 'http://localhost:8000'")
    materials = BARE.model_copy(update={"services": [service]})
    assert 'ENTRYPOINT ["/usr/local/bin/facet-entrypoint"]' in instructions(render_dockerfile(materials))
    context = {entry.path: entry for entry in build_context(materials)}
    assert context["files/usr/local/bin/facet-entrypoint"].mode == 0o755
    assert context["files/usr/local/lib/facet/services/api/run"].content == "python3 -m http.server 8000\n"
    assert context["files/usr/local/lib/facet/services/api/health"].content == "curl -fs 'http://localhost:8000'\n"
