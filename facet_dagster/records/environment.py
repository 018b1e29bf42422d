"""The environment of a seed: manifest, files, image, and the state e0 observed in a running container."""

from typing import Literal

from pydantic import Field

from facet_dagster.records.base import Record
from facet_dagster.records.container import Command

# The image's entry point writes the start time of process 1 here once the services serve (or 20 s have passed).
ENTRYPOINT = "/usr/local/bin/facet-entrypoint"  # in images with services
SERVICES_READY = "/run/facet-ready"


class PlannedFile(Record):
    """A file that the scenario needs. `made_by`: written inline, or by a generator program while building."""

    path: str
    purpose: str
    format: str
    made_by: Literal["inline", "generator"]


class ExpectedProperty(Record):
    """Something that must hold in a fresh container. `probe` is a shell command that exits 0 when it does."""

    id: str = Field(pattern=r"^P[1-9][0-9]?$")
    description: str
    probe: str


class Service(Record):
    """A background process that the environment starts by itself; `health` exits 0 once it serves."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")
    command: str
    health: str


def wait_for_services(timeout_s: float = 30.0) -> Command:
    """Command that returns once the services of a container just started serve; at once where there are none."""
    waits = f'[ "$(cat {SERVICES_READY} 2>/dev/null)" = "$(cut -d " " -f 22 /proc/1/stat)" ]'
    script = f"[ -x {ENTRYPOINT} ] || exit 0; until {waits}; do sleep 0.2; done"
    return Command(script=script, user="root", workdir="/", timeout_s=timeout_s)


class Manifest(Record):
    """The plan of the environment (method 3.1)."""

    directories: list[str]
    files: list[PlannedFile]
    apt_packages: list[str]
    pip_packages: list[str]
    services: list[Service]
    properties: list[ExpectedProperty]


class InlineFile(Record):
    """A text file placed at an absolute path."""

    path: str
    content: str
    executable: bool = False


class Generator(Record):
    """A Python 3 program run once as root while the image is built, with network; it writes the planned files."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")
    program: str


class Materials(Record):
    """How the manifest becomes real: what is installed, written, generated and run while building."""

    apt_packages: list[str]
    pip_packages: list[str]
    files: list[InlineFile]
    generators: list[Generator]
    setup_commands: list[str]  # run as root after files and generators, in order, in /app
    services: list[Service]
    properties: list[ExpectedProperty]


class ObservedFile(Record):
    """One path of the observed tree. `sha256` is missing for directories, links and files over the size bound."""

    path: str
    type: Literal["file", "dir", "link", "other"]
    size: int
    mode: str  # octal, e.g. "0644"
    owner: str
    sha256: str | None = None
    target: str | None = None  # of a link
    sniffed: str | None = None  # schema in one line: CSV header and dtypes, JSON shape, SQLite tables, archive members
    sample: str | None = None  # first lines of a text file


class ObservedState(Record):
    """What a container really holds (e0 before, eT after): files, packages, users, services."""

    files: tuple[ObservedFile, ...]
    packages: tuple[str, ...]  # installed beyond the base image, name=version
    tools: dict[str, str]  # tool -> version line
    users: tuple[str, ...]
    listening: tuple[str, ...]  # proto address:port
    truncated: bool = False  # more files than are recorded

    def file(self, path: str) -> ObservedFile | None:
        """The entry at an absolute path, if it was observed."""
        return next((f for f in self.files if f.path == path), None)


class Probe(Record):
    """A check of a fresh container: the command exits 0 where what is described holds."""

    id: str
    description: str
    command: Command


class ProbeResult(Record):
    """An expected property, run in a fresh container."""

    id: str
    description: str
    ok: bool
    output: str


class Environment(Record):
    """A built and probed environment with its observed initial state e0."""

    kind: Literal["environment"] = "environment"
    manifest: Manifest
    materials: Materials
    dockerfile: str
    image: str
    build_seconds: float
    probes: tuple[ProbeResult, ...]
    e0: ObservedState
    build_repairs: int  # environment repairs before it built and held (0-3)
