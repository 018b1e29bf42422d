"""A store as a run at the paper's rates would leave it, without a model or a container: for benchmarks and pictures.

What happens to which seed is drawn by a number that the caller gives; the sizes of bodies are what the caller asks for.
"""

import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby

from facet_dagster.ports import Store
from facet_dagster.records.authoring import Execution, Instruction, Solution, StateDiff, Verifier
from facet_dagster.records.base import Record, StoredRecord
from facet_dagster.records.bundle import ComponentVersion, Origin, SeedOutcome, Status, Task
from facet_dagster.records.call import CallId, Completion, LedgerRow, Role
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.rollout import StopReason, Trial, Turn
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Family, SkillEntry
from facet_dagster.records.validation import (
    ControlKind,
    ControlResult,
    Diagnosis,
    Gate,
    GateResult,
    GradeReport,
    TestResult,
    ValidationReport,
)
from facet_dagster.testing.examples import a_scenario, an_environment

SEEDS = 7_852
_START = datetime(2026, 1, 1, tzinfo=UTC)
_AT_ONCE = 500  # seeds whose rows are in memory together
_MODELS = {Role.AUTHOR: "author-model", Role.JUDGE: "judge-model", Role.TEACHER: "teacher-model"}
_CATEGORIES = {
    Family.AI: ("agents", "tools"),
    Family.SOFTWARE: ("systems", "security", "testing"),
    Family.DATA: ("tables", "statistics"),
    Family.DOCUMENTS: ("office", "notes"),
    Family.MEDIA: ("images", "publishing"),
}
_FAULTS = (
    (Component.VERIFIER, Reason.ORACLE_FAILED, Gate.ORACLE, 45),
    (Component.VERIFIER, Reason.CONTROL_SURVIVED, Gate.CONTROLS, 20),
    (Component.SOLUTION, Reason.SOLUTION_FAILED, Gate.ORACLE, 15),
    (Component.INSTRUCTION, Reason.CONTRACT_BROKEN, Gate.CONTRACT, 12),
    (Component.ENVIRONMENT, Reason.PROBE_FAILED, Gate.BUILD, 8),
)
# Station, role, prompt and completion tokens, seconds.
_CALLS = {
    Component.SCENARIO: (("scenario.evolution", Role.AUTHOR, 6_000, 1_500, 30.0),) * 5,
    Component.ENVIRONMENT: (("environment.materials", Role.AUTHOR, 9_000, 6_000, 80.0),) * 2,
    Component.INSTRUCTION: (("authoring.instruction", Role.AUTHOR, 8_000, 700, 20.0),),
    Component.SOLUTION: (("authoring.solution", Role.AUTHOR, 12_000, 2_500, 45.0),),
    Component.VERIFIER: (("authoring.verifier", Role.AUTHOR, 16_000, 5_000, 70.0),),
    Component.VALIDATION: (),
    Component.TASK: (),
}


def fill(store: Store, seeds: int = SEEDS, *, body: int = 200, draw: int = 0) -> None:
    """Put so many seeds with all that belongs to them; `body` is the length of each longer text, in characters."""
    chance = random.Random(draw)
    for first in range(0, seeds, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, seeds))
        rows = [row for number in numbers for row in _seed(number, chance, "lorem ipsum " * (body // 12 + 1))]
        _put(store, rows)


def _put(store: Store, rows: Iterable[StoredRecord]) -> None:
    for _, of_one_kind in groupby(sorted(rows, key=lambda row: row.table), key=lambda row: row.table):
        store.put_all(list(of_one_kind))


def _seed(number: int, chance: random.Random, text: str) -> Iterator[StoredRecord]:
    name = f"seed-{number:05d}"
    skills = [f"skill-{number:05d}-{which}" for which in "ab"]
    for skill in skills:
        yield _skill(skill, chance)
    yield ScenarioSeed(seed_id=name, title=name, skill_ids=tuple(skills), hypothesis_ids=(), rationale="They fit.")
    walk = _Walk(name, chance, text, _START + timedelta(minutes=number))
    yield from walk.to_the_end()


class _Walk:
    """One seed from its scenario to its end, and the teacher's attempt where a task was accepted."""

    diagnosis: Diagnosis  # of the last validation

    def __init__(self, seed: str, chance: random.Random, text: str, at: datetime) -> None:
        self.seed, self.chance, self.text, self.at = seed, chance, text, at
        self.sequence = self.round = 0
        self.tests = chance.randint(8, 38)

    def to_the_end(self) -> Iterator[StoredRecord]:
        yield from self.version(Component.SCENARIO, a_scenario(description=self.text))
        repairs = 0 if self.chance.random() < 0.8456 else self.chance.choice((1, 2, 3))
        if repairs and self.chance.random() > 0.722:
            rejected = Rejected(
                component=Component.ENVIRONMENT, reason=Reason.BUILD_FAILED, evidence="it does not build"
            )
            yield from self.version(Component.ENVIRONMENT, rejected)
            yield self.outcome(Component.ENVIRONMENT, Reason.BUILD_FAILED)
            return
        bodies: dict[Component, Record] = {
            Component.ENVIRONMENT: an_environment(dockerfile=self.text, build_repairs=repairs, build_seconds=40.0),
            Component.INSTRUCTION: Instruction(text=self.text, clauses={"R1": "lorem"}),
            Component.SOLUTION: _solution(self.text),
            Component.VERIFIER: Verifier(test_file=self.text, e0_copies=(), tests=("test_r1_it_is_so",)),
        }
        for component, body in bodies.items():
            yield from self.version(component, body)
        valid = self.chance.random() < 0.3835
        yield from self.validated(valid)
        while not valid and self.round < 5:
            valid = self.chance.random() < 0.214
            self.round += 1
            fault = self.diagnosis
            yield from self.version(fault.component, bodies[fault.component], diagnosis=fault)
            yield from self.validated(valid)
        if not valid:
            yield self.outcome(self.diagnosis.component, Reason.REPAIRS_EXHAUSTED)
            return
        functions = max(4, self.tests // 2)
        task = Task(name=f"org/{self.seed}", bundle="b" * 64, rounds={}, tests=functions, directory=self.seed)
        yield from self.version(Component.TASK, task)
        yield self.outcome(None, None)
        yield from self.attempt()

    def validated(self, valid: bool) -> Iterator[StoredRecord]:
        component, reason, gate, _ = self.chance.choices(_FAULTS, [share for *_, share in _FAULTS])[0]
        self.diagnosis = Diagnosis(component=component, reason=reason, evidence="a test failed", decided_by="table")
        failed = GateResult(gate=gate, passed=False, runs=2, evidence="", component=component, reason=reason)
        results = tuple(
            failed if each is gate and not valid else GateResult(gate=each, passed=True, runs=2, evidence="")
            for each in (Gate.BUILD, Gate.NOOP, Gate.ORACLE, Gate.CONTROLS, Gate.CONTRACT)
        )
        controls = tuple(
            ControlResult(path="/app/out", kind=ControlKind.EMPTIED, what="emptied", killed=self.chance.random() < 0.9)
            for _ in range(4)
        )
        report = ValidationReport(
            bundle="b" * 64,
            verdict=valid,
            gates=results,
            noop_runs=(),
            oracle_runs=(_graded(self.tests, 1.0),),
            controls=controls,
        )
        yield from self.version(Component.VALIDATION, report)

    def version(self, component: Component, body: Record, diagnosis: Diagnosis | None = None) -> Iterator[StoredRecord]:
        calls = [self.call(*each, number) for number, each in enumerate(_CALLS[component])]
        yield from calls
        self.at += timedelta(seconds=30)
        yield ComponentVersion.model_validate({
            "seed": self.seed, "component": component, "sequence": self.sequence, "round": self.round,
            "origin": Origin.REPAIRED if diagnosis else Origin.AUTHORED, "inputs": {}, "diagnosis": diagnosis,
            "code_version": "1", "run_id": "simulated", "at": self.at, "seconds": 30 * self.chance.uniform(0.5, 2),
            "tokens": sum(call.prompt_tokens + call.completion_tokens for call in calls),
            "cost_usd": sum(call.cost_usd for call in calls), "body": body,
        })  # fmt: skip
        self.sequence += 1

    def call(self, station: str, role: Role, prompt: int, completion: int, seconds: float, number: int) -> LedgerRow:
        call = CallId(station=station, subject=self.seed, round=self.round, attempt=self.sequence, turn=number)
        factor = self.chance.uniform(0.6, 1.6)
        sent, said = round(prompt * factor), round(completion * factor)
        return LedgerRow(
            fingerprint=f"{call.label()}".replace("/", "-"), call=call, role=role, station=station, subject=self.seed,
            round=self.round, prompt_hash="p", opening_hash="o", model=_MODELS[role], prompt_tokens=sent,
            completion_tokens=said, cost_usd=(sent * 0.5 + said * 1.5) / 1e6, seconds=seconds * factor, recorded=False,
            at=self.at, run_id="simulated",
            completion=Completion(text=self.text, model=_MODELS[role], prompt_tokens=sent, completion_tokens=said),
        )  # fmt: skip

    def outcome(self, component: Component | None, reason: Reason | None) -> SeedOutcome:
        return SeedOutcome(
            seed=self.seed, sequence=self.sequence - 1, status=Status.REJECTED if reason else Status.ACCEPTED,
            first_pass=reason is None and self.round == 0, rounds=self.round, component=component, reason=reason,
            evidence="it stayed so" if reason else "", run_id="simulated", at=self.at,
        )  # fmt: skip

    def attempt(self) -> Iterator[StoredRecord]:
        won = self.chance.random() < 0.2094
        length = self.chance.randint(4, 20)
        calls = [self.call("rollout.teacher", Role.TEACHER, 1_500 * n, 300, 8.0, n) for n in range(1, length + 1)]
        yield from calls
        turns = tuple(
            Turn(
                number=number, prompt=self.text, raw=self.text, analysis="", plan="", commands=(), task_complete=False,
                parse_error=None, observation=self.text, prompt_tokens=call.prompt_tokens,
                completion_tokens=call.completion_tokens, cost_usd=call.cost_usd, at=self.at,
            )
            for number, call in enumerate(calls)
        )  # fmt: skip
        yield Trial(
            seed=self.seed, task=f"org/{self.seed}", bundle="b" * 64, attempt=0, model=_MODELS[Role.TEACHER],
            recorded=False, stop=StopReason.COMPLETED if won else StopReason.TURN_LIMIT, reward=float(won),
            grade=_graded(self.tests, float(won)), turns=turns, seconds=12.0 * length, started_at=self.at,
            run_id="simulated",
        )  # fmt: skip


def _skill(name: str, chance: random.Random) -> SkillEntry:
    family = chance.choice(list(Family))
    return SkillEntry(
        ingest=1, collection="simulated", source="simulated", path=name, state="kept", fingerprint=name,
        content_hash=name, skill_id=name, skill_key=name, family=family, category=chance.choice(_CATEGORIES[family]),
        licence="MIT", actionable=True, sign="drawn",
    )  # fmt: skip


def _solution(text: str) -> Solution:
    run = Execution(exit_code=0, output="", seconds=1.0, limit=None, diff=StateDiff(files=()))
    return Solution(script=text, workflow="", execution=run)


def _graded(tests: int, reward: float) -> GradeReport:
    results = tuple(TestResult(name=f"test_r1_{n}", outcome="passed" if reward else "failed") for n in range(tests))
    return GradeReport(reward=reward, tests=results, executed=tests, seconds=3.0, output="")
