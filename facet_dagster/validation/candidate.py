"""What is put to the gates: a task as an image and files, wherever it comes from (our bundles, Harbor directories).

Only the description belongs here; nothing is run.
"""

from dataclasses import dataclass

from facet_dagster.records.authoring import StateDiff
from facet_dagster.records.container import AGENT_USER, WORKDIR, FileEntry, Limits
from facet_dagster.records.environment import ObservedState, Probe
from facet_dagster.records.scenario import Requirement


@dataclass(frozen=True)
class Contract:
    """What was promised: the requirements, the words of the instruction that state each, and the tests' names."""

    requirements: tuple[Requirement, ...]
    clauses: dict[str, str]  # requirement id -> passage of the instruction
    tests: dict[str, tuple[str, ...]]  # test function -> requirement ids that it asserts


@dataclass(frozen=True)
class Candidate:
    """One task under examination.

    `contract`, `e0` and `diff` are known of bundles of ours; what is None is observed by the gates that need it, or
    leaves those open that cannot do without (G6).
    """

    name: str  # seed id or task name; labels the containers
    image: str  # holds the initial state e0
    dockerfile: str
    context: tuple[FileEntry, ...]  # the build context, relative paths
    instruction: str
    solution: tuple[FileEntry, ...]  # absolute, below /solution, solve.sh among them; empty where the task has none
    tests: tuple[FileEntry, ...]  # absolute, below /tests, test.sh among them
    limits: Limits
    solve_timeout_s: float
    grade_timeout_s: float
    user: str = AGENT_USER  # who runs the solution and the cheats
    workdir: str = WORKDIR
    contract: Contract | None = None
    probes: tuple[Probe, ...] = ()  # what must hold in a fresh container
    e0: ObservedState | None = None
    diff: StateDiff | None = None
