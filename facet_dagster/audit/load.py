"""A folder of Harbor tasks -> what the gates examine; what is wrong in form is a finding of that task, never a crash.

Belongs here: which file is what. Single declarations stand in task_toml.py, reading files in folder.py.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from facet_dagster.audit import task_toml
from facet_dagster.audit.compose import read_compose
from facet_dagster.audit.contract import contract_of
from facet_dagster.audit.dockerfile import defaults, needs_buildkit
from facet_dagster.audit.folder import Tree, printable, read_text, read_tree
from facet_dagster.audit.task_toml import TaskFile
from facet_dagster.errors import SettingsError
from facet_dagster.records.container import FileEntry, Limits
from facet_dagster.records.outcome import Component
from facet_dagster.validation.candidate import Candidate

PARTS = ("instruction.md", "environment", "tests", "solution")
TEXT_BYTES = 1_000_000
NAME = 200  # characters kept of a task's name
SOLVE_S = 900.0  # where a task declares no limit
SOLVE_MOST_S = 3_600.0
GRADE_S = 600.0
MEMORY_MB, DISK_MB, PIDS = 2_048, 4_096, 1_024
_CANARY = re.compile(r"(?:\s*(?:<!--[^\n]*canary[^\n]*-->|#[^\n]*canary[^\n]*)\n)+", re.IGNORECASE)
_VARIABLE_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_HOST_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


@dataclass(frozen=True)
class Fault:
    """What is wrong with the form of a task, and whose part it is."""

    component: Component
    text: str


@dataclass(frozen=True)
class Loaded:
    """One task as read. `candidate` (without an image) is None where `faults` say why.

    `obstacles` is what the task may well have but this program cannot examine: no verdict.
    """

    name: str
    path: Path
    candidate: Candidate | None
    faults: tuple[Fault, ...] = ()
    obstacles: tuple[str, ...] = ()
    build_timeout_s: float = 600.0
    env: dict[str, str] = field(default_factory=dict)  # [environment] env: part of the image
    user: str | None = None  # as whom and where the agent works; of the image where the task does not declare it
    workdir: str | None = None
    network: bool = True  # whether it asks for one


@dataclass(frozen=True)
class Found:
    """A task by its name and folder; `load` reads its files, which may be many, and never raises FacetError."""

    name: str
    path: Path
    load: Callable[[], Loaded]


def load_folder(directory: Path, only: Iterable[str] = ()) -> list[Found]:
    """The task that a folder is, or all tasks right below it. Raises SettingsError where there is none.

    Only names are read here. `only` picks by task name or by the folder's name; names are compared over all of them
    all the same.
    """
    if not directory.is_dir():
        raise SettingsError(f"{directory} is not a folder: name a Harbor task or a folder of them")
    try:
        folders = [directory] if (directory / "task.toml").exists() else _candidates(directory)
    except OSError as error:
        raise SettingsError(f"{directory} cannot be read: {error.strerror or error}") from error
    found = _named(folders)
    if not found:
        raise SettingsError(f"no task in {directory}: a task is a folder with a task.toml")
    wanted = set(only)
    chosen = [task for task in found if not wanted or wanted & {task.name, task.path.name}]
    missing = wanted - {name for task in chosen for name in (task.name, task.path.name)}
    if missing:
        raise SettingsError(f"no task {', '.join(sorted(missing))} in {directory}")
    return chosen


def load_task(folder: Path) -> Loaded:
    """One task folder, whatever it holds."""
    try:
        list(folder.iterdir())
        return _Reader(folder).task()
    except OSError as error:
        text = f"the folder cannot be read: {error.strerror or error}"
        return Loaded(_folder_name(folder), folder, None, obstacles=(text,))


def _candidates(directory: Path) -> list[Path]:
    """Sub-folders that are tasks, or look like one without its task.toml; hidden ones are left out."""
    folders = sorted(place for place in directory.iterdir() if place.is_dir() and not place.name.startswith("."))
    return [place for place in folders if os.path.lexists(place / "task.toml") or _looks_like_a_task(place)]


def _looks_like_a_task(folder: Path) -> bool:
    """Whether it holds a task's parts, or nothing, or nobody may see what."""
    try:
        entries = {place.name for place in folder.iterdir()}
    except OSError:
        return True
    return not entries or bool(entries & set(PARTS))


def _named(folders: list[Path]) -> list[Found]:
    """Harbor and every table of results tell tasks apart by name."""
    names = [_name(folder) for folder in folders]
    counted = Counter(names)
    found = []
    for name, folder in zip(names, folders, strict=True):
        load = load_task if counted[name] == 1 else partial(_load_namesake, counted[name])
        found.append(Found(name, folder, partial(load, folder)))
    return found


def _load_namesake(number: int, folder: Path) -> Loaded:
    task = load_task(folder)
    fault = Fault(Component.TASK, f"task.toml: {number} tasks of this folder have the name {task.name}")
    return replace(task, candidate=None, faults=(*task.faults, fault))


def _name(folder: Path) -> str:
    try:
        return _Reader(folder).name()
    except OSError:
        return _folder_name(folder)


def _folder_name(folder: Path) -> str:
    return printable(folder.resolve().name)[:NAME]


class _Reader:
    """Reads one task folder, collecting what is wrong on the way."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = _folder_name(folder)
        self._faults: list[Fault] = []
        self._obstacles: list[str] = []
        self._isolated = False  # a compose file takes the network away, whatever task.toml says

    def name(self) -> str:
        """The name that it declares, else its folder's."""
        self._declared()
        return self._name

    def task(self) -> Loaded:
        """All of it."""
        declared = self._declared()
        instruction = self._instruction()
        dockerfile, context = self._environment(declared)
        solution = self._placed("solution", "solve.sh", Component.SOLUTION)
        tests = self._placed("tests", "test.sh", Component.VERIFIER)
        self._unsupported(declared, tests)
        for phase in (declared.agent.env, declared.verifier.env, declared.solution.env):
            if set(phase) - {"FACET_GRADE_TIMEOUT"}:
                self._obstacles.append("task.toml: variables for agent, verifier or solution are not supported")
                break
        env = self._variables(declared.environment.env)
        candidate = None
        if not self._faults and dockerfile is not None:
            candidate = self._candidate(declared, instruction, dockerfile, context, solution, tests)
        return Loaded(
            name=self._name,
            path=self._folder,
            candidate=candidate,
            faults=tuple(self._faults),
            obstacles=tuple(dict.fromkeys(self._obstacles)),
            build_timeout_s=declared.environment.build_timeout_sec,
            env=env,
            user=_user(declared),
            workdir=declared.environment.workdir or None,
            network=declared.environment.network and not self._isolated,
        )

    def _candidate(
        self,
        declared: TaskFile,
        instruction: str,
        dockerfile: str,
        context: tuple[FileEntry, ...],
        solution: tuple[FileEntry, ...],
        tests: tuple[FileEntry, ...],
    ) -> Candidate:
        image = defaults(dockerfile)  # as far as its text says; what its base says is known when it is built
        agent, environment = declared.agent, declared.environment
        return Candidate(
            name=self._name,
            image="",
            dockerfile=dockerfile,
            context=context,
            instruction=instruction,
            solution=solution,
            tests=tests,
            limits=Limits(
                cpus=environment.cpus or 1.0,
                memory_mb=environment.memory_mb or MEMORY_MB,
                disk_mb=environment.storage_mb or DISK_MB,
                pids=PIDS,
            ),
            solve_timeout_s=min(agent.timeout_sec or SOLVE_S, SOLVE_MOST_S),
            grade_timeout_s=_grade_timeout(declared),
            user=_user(declared) or image.user or "root",
            workdir=environment.workdir or image.workdir or "/",
            contract=contract_of(declared.metadata),
        )

    def _declared(self) -> TaskFile:
        data = self._bytes("task.toml", Component.TASK)
        if data is None:
            return TaskFile()
        declared, wrong = task_toml.parse(data)
        self._wrong(Component.TASK, *(f"task.toml: {text}" for text in wrong))
        if wrong:
            return declared
        name = declared.task.name
        if not name:
            self._wrong(Component.TASK, "task.toml: [task] has no name (org/name)")
        elif len(name) > NAME or not task_toml.NAME.fullmatch(name):
            self._wrong(Component.TASK, f"task.toml: the name {printable(name)[:NAME]!r} is not of the form org/name")
        else:
            self._name = name
        return declared

    def _instruction(self) -> str:
        data = self._bytes("instruction.md", Component.INSTRUCTION)
        try:
            text = _CANARY.sub("", (data or b"").decode(), count=1) if data else ""
        except UnicodeDecodeError:
            self._wrong(Component.INSTRUCTION, "instruction.md is not UTF-8")
            return ""
        if data is not None and not text.strip():
            self._wrong(Component.INSTRUCTION, "instruction.md is empty")
        return text

    def _environment(self, declared: TaskFile) -> tuple[str | None, tuple[FileEntry, ...]]:
        tree = self._tree("environment", Component.ENVIRONMENT)
        dockerfile = next((file for file in tree.files if file.path == "Dockerfile"), None)
        context = tuple(file for file in tree.files if file.path != "Dockerfile")
        compose = next((file for file in context if file.path in {"docker-compose.yaml", "docker-compose.yml"}), None)
        if compose is not None:
            said = read_compose(compose.data())
            self._isolated = said.isolated
            self._wrong(Component.ENVIRONMENT, *said.faults)
            self._obstacles += said.obstacles
        if dockerfile is not None:
            return self._text_of(dockerfile), context
        if declared.environment.docker_image:
            return f"FROM {declared.environment.docker_image}\n", context
        if compose is not None:
            self._obstacles.append("environment/docker-compose.yaml without a Dockerfile is not supported")
        elif not tree.obstacles:  # else it may merely not have been read
            self._wrong(Component.ENVIRONMENT, "environment/Dockerfile is missing")
        return None, context

    def _text_of(self, dockerfile: FileEntry) -> str | None:
        try:
            text = dockerfile.data().decode()
        except UnicodeDecodeError:
            self._wrong(Component.ENVIRONMENT, "environment/Dockerfile is not UTF-8")
            return None
        if not text.strip():
            self._wrong(Component.ENVIRONMENT, "environment/Dockerfile is empty")
            return None
        if needs_buildkit(text):
            self._obstacles.append("environment/Dockerfile needs BuildKit, which is not supported")
        return text

    def _placed(self, folder: str, entry: str, component: Component) -> tuple[FileEntry, ...]:
        """A folder's files where they lie in a container; faults where its entry point is missing."""
        tree = self._tree(folder, component)
        names = {file.path for file in tree.files}
        if entry not in names and not tree.obstacles and (names or component is Component.VERIFIER):
            self._wrong(component, f"{folder}/{entry} is missing")
        return tuple(file.model_copy(update={"path": f"/{folder}/{file.path}"}) for file in tree.files)

    def _unsupported(self, declared: TaskFile, tests: tuple[FileEntry, ...]) -> None:
        environment, verifier = declared.environment, declared.verifier
        own_image = {"/tests/Dockerfile", "/tests/docker-compose.yaml"} & {file.path for file in tests}
        separate = verifier.environment_mode == "separate" or verifier.environment is not None or bool(own_image)
        checks = {
            "tasks of several steps are not supported": bool(declared.steps) or (self._folder / "steps").is_dir(),
            "Windows containers are not supported": environment.os == "windows",
            "GPUs are not supported": environment.gpus > 0,
            "a verifier with an image of its own is not supported": separate,
        }
        self._obstacles += [text for text, applies in checks.items() if applies]

    def _variables(self, given: dict[str, str]) -> dict[str, str]:
        """Values with the defaults of host variables put in; the host's own are nobody's business."""
        for name, value in given.items():
            if not _VARIABLE_NAME.fullmatch(name) or not value.isprintable():
                self._obstacles.append("task.toml: a variable of the environment cannot be put into an image")
            if any(match[2] is None for match in _HOST_VARIABLE.finditer(value)):
                self._obstacles.append(f"task.toml: {name} comes from the host's environment")
        return {name: _HOST_VARIABLE.sub(lambda match: match[2] or "", value) for name, value in given.items()}

    def _tree(self, folder: str, component: Component) -> Tree:
        tree = read_tree(self._folder / folder, self._folder)
        self._wrong(component, *tree.faults)
        self._obstacles += tree.obstacles
        return tree

    def _bytes(self, name: str, component: Component) -> bytes | None:
        try:
            data = read_text(self._folder / name, self._folder, TEXT_BYTES)
        except ValueError as fault:
            self._wrong(component, str(fault))
            return None
        if data is None:
            self._wrong(component, f"{name} is missing")
        return data

    def _wrong(self, component: Component, *texts: str) -> None:
        self._faults += [Fault(component, text) for text in texts]


def _user(declared: TaskFile) -> str | None:
    return None if declared.agent.user is None else str(declared.agent.user)


def _grade_timeout(declared: TaskFile) -> float:
    """Our own tests end themselves a while before Harbor would end them."""
    own = declared.verifier.env.get("FACET_GRADE_TIMEOUT", "")
    try:
        seconds = float(own)
    except ValueError:
        seconds = 0.0
    return seconds if 0 < seconds <= SOLVE_MOST_S else declared.verifier.timeout_sec or GRADE_S
