"""Instruction, solution with its observed execution (e0 -> eT), and verifier."""

import re
from collections.abc import Iterable
from typing import Literal

from facet_dagster.records.base import Record
from facet_dagster.records.container import AGENT_USER, WORKDIR, Command, FileEntry
from facet_dagster.records.environment import ObservedFile
from facet_dagster.records.outcome import Component, Reason, Rejected

E0_COPIES = "/tests/e0"  # where the tests find the initial state's files
SOLVE = "/solution/solve.sh"  # where a solution lies while it runs
TEST_NAME = re.compile(r"^test_((?:r[1-9][0-9]?_)+)[a-z0-9_]+$")


def requirements_of_test(name: str) -> tuple[str, ...]:
    """Requirement ids that a test's name cites: `test_r1_r4_totals[x]` -> ("R1", "R4"); empty if none."""
    match = TEST_NAME.match(name.partition("[")[0])
    return tuple(part.upper() for part in match.group(1).rstrip("_").split("_")) if match else ()


def at_tests(copies: Iterable[FileEntry]) -> list[FileEntry]:
    """Copies of e0 files where the tests find them: /app/a.csv at /tests/e0/app/a.csv."""
    return [copy.model_copy(update={"path": f"{E0_COPIES}{copy.path}"}) for copy in copies]


def solve_file(script: str) -> FileEntry:
    """solve.sh as it is put into a container."""
    return FileEntry(path=SOLVE, content=script, mode=0o755)


def solve(timeout_s: float, *, user: str = AGENT_USER, workdir: str = WORKDIR) -> Command:
    """Command that runs solve.sh."""
    return Command(script=f"bash {SOLVE}", user=user, workdir=workdir, timeout_s=timeout_s)


def forget_solution() -> Command:
    """Command that takes the solution away again: tests must not be able to lean on its text."""
    return Command(script="rm -rf /solution", user="root", workdir="/")


class Instruction(Record):
    """What the agent is told. `clauses` maps each requirement id to the words that state it."""

    kind: Literal["instruction"] = "instruction"
    text: str
    clauses: dict[str, str]


class FileChange(Record):
    """One path that differs between e0 and eT. `before`/`after` hold what was observed on either side."""

    path: str
    change: Literal["added", "changed", "removed"]
    before: ObservedFile | None = None
    after: ObservedFile | None = None


class StateDiff(Record):
    """The observed difference e0 -> eT."""

    files: tuple[FileChange, ...]
    listening_added: tuple[str, ...] = ()
    listening_removed: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.files or self.listening_added or self.listening_removed)


class Execution(Record):
    """The solution as it ran in a fresh container."""

    exit_code: int
    output: str
    seconds: float
    limit: str | None
    diff: StateDiff


class Solution(Record):
    """solve.sh and what its execution did. `workflow` says in words how it goes about it."""

    kind: Literal["solution"] = "solution"
    script: str
    workflow: str
    execution: Execution

    def fault(self) -> Rejected | None:
        """Why this solution cannot be used as it ran; None when it ran through and changed something."""
        run = self.execution
        if run.limit is not None:
            return _solution_rejected(
                Reason.SOLUTION_LIMIT, f"solve.sh was cut short: {run.limit}\n{run.output[-3000:]}"
            )
        if run.exit_code != 0:
            evidence = f"solve.sh ended with exit code {run.exit_code}\n{run.output[-3000:]}"
            return _solution_rejected(Reason.SOLUTION_FAILED, evidence)
        if run.diff.empty:
            return _solution_rejected(Reason.SOLUTION_CHANGES_NOTHING, "solve.sh ran through and changed nothing")
        return None


def _solution_rejected(reason: Reason, evidence: str) -> Rejected:
    return Rejected(component=Component.SOLUTION, reason=reason, evidence=evidence)


class Verifier(Record):
    """test_outputs.py; `e0_copies` are the files of e0 below /app, and those elsewhere that the solution changes.

    Their paths are absolute as in the container; the grader puts them under E0_COPIES (`/app/a.csv` ->
    `/tests/e0/app/a.csv`), out of the agent's reach. Bytes and names are those of e0, modes and owners are not.
    """

    kind: Literal["verifier"] = "verifier"
    test_file: str
    e0_copies: tuple[FileEntry, ...]
    tests: tuple[str, ...]  # names of its test functions

    def requirement_table(self) -> dict[str, tuple[str, ...]]:
        """Test name -> requirement ids it asserts."""
        return {name: requirements_of_test(name) for name in self.tests}
