"""Materials -> Dockerfile and build context, the same for building here and for the exported task.

Belongs here: rendering. What may stand in materials is decided in check.py; the texts are real files in
`task_template/`. Building is the ImageBuilder's business.
"""

import shlex
from functools import cache
from pathlib import Path

from jinja2 import Environment as Jinja
from jinja2 import StrictUndefined, Template

from facet_dagster.records.container import FileEntry
from facet_dagster.records.environment import Materials, Service

TEMPLATES = Path(__file__).parent.parent / "task_template"
SERVICES = "usr/local/lib/facet/services"
BARE_HEAD = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\n"


def render_dockerfile(materials: Materials, *, standalone: bool = True) -> str:
    """The Dockerfile. `standalone` starts from a public image and installs the common base itself; otherwise the
    build argument BASE_IMAGE must name an image that already holds that base."""
    head = (TEMPLATES / "base.dockerfile").read_text(encoding="utf-8") if standalone else BARE_HEAD
    tail = _tail().render(
        apt_packages=[shlex.quote(name) for name in sorted(set(materials.apt_packages))],
        pip_packages=[shlex.quote(name) for name in sorted(set(materials.pip_packages))],
        generators=[generator.name for generator in materials.generators],
        has_files=bool(materials.files or materials.services),
        has_build=bool(materials.generators or materials.setup_commands),
        has_setup=bool(materials.setup_commands),
        has_services=bool(materials.services),
    )
    return head.rstrip() + "\n" + tail


@cache
def _tail() -> Template:
    jinja = Jinja(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return jinja.from_string((TEMPLATES / "dockerfile.tail.j2").read_text(encoding="utf-8"))


def on_local_base(dockerfile: str) -> str:
    """A standalone Dockerfile as it is built where a local image holds the common base already; any other unchanged."""
    head = (TEMPLATES / "base.dockerfile").read_text(encoding="utf-8").rstrip()
    return BARE_HEAD.rstrip() + dockerfile.removeprefix(head) if dockerfile.startswith(head) else dockerfile


def build_context(materials: Materials) -> tuple[FileEntry, ...]:
    """What the Dockerfile copies, with relative paths: `files/` mirrors `/`, `build/` is run and removed."""
    entries = [
        FileEntry(path=f"files{file.path}", content=file.content, mode=0o755 if file.executable else 0o644)
        for file in materials.files
    ]
    entries += [FileEntry(path=f"build/{g.name}.py", content=g.program) for g in materials.generators]
    if materials.setup_commands:
        entries.append(FileEntry(path="build/setup.sh", content="\n".join(["cd /app", *materials.setup_commands, ""])))
    if materials.services:
        entrypoint = (TEMPLATES / "facet-entrypoint").read_text(encoding="utf-8")
        entries.append(FileEntry(path="files/usr/local/bin/facet-entrypoint", content=entrypoint, mode=0o755))
        entries += [entry for service in materials.services for entry in _service_files(service)]
    return tuple(sorted(entries, key=lambda entry: entry.path))


def _service_files(service: Service) -> list[FileEntry]:
    """The two scripts that the entry point runs; files, so that nothing has to be quoted into a shell line."""
    folder = f"files/{SERVICES}/{service.name}"
    return [
        FileEntry(path=f"{folder}/run", content=f"{service.command}\n"),
        FileEntry(path=f"{folder}/health", content=f"{service.health}\n"),
    ]
