"""A small store whose figures can be counted by hand."""

from datetime import UTC, datetime, timedelta
from typing import Literal

from facet_dagster.adapters.ledger import StoreLedger
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.records.authoring import Instruction
from facet_dagster.records.bundle import Body, ComponentVersion, Origin, SeedOutcome, Status, Task
from facet_dagster.records.call import CallId, ChatRequest, Completion, Message, Role
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.rollout import StopReason, Trial, Turn
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill, SkillEntry, SkillFault, SkillReject
from facet_dagster.records.validation import (
    ControlKind,
    ControlResult,
    Gate,
    GateResult,
    GradeReport,
    ValidationReport,
)
from facet_dagster.testing.examples import an_environment

START = datetime(2026, 1, 1, tzinfo=UTC)
ROLE_NAMES = dict.fromkeys(Role, "m")


def version(seed: str, sequence: int, component: Component, body: Body) -> ComponentVersion:
    """A version of round 0 by the author, of 10 tokens."""
    return ComponentVersion(
        seed=seed,
        component=component,
        sequence=sequence,
        round=0,
        origin=Origin.AUTHORED,
        inputs={},
        diagnosis=None,
        code_version="1",
        run_id="run",
        at=START,
        seconds=1.0,
        tokens=10,
        cost_usd=0.0,
        body=body,
    )


def outcome(seed: str, status: Status, *, rounds: int, later: int = 0, reason: Reason | None = None) -> SeedOutcome:
    """The end of a walk, so many hours `later` than START."""
    return SeedOutcome(
        seed=seed,
        sequence=later,
        status=status,
        first_pass=status is Status.ACCEPTED and rounds == 0,
        rounds=rounds,
        component=Component.VERIFIER if reason else None,
        reason=reason,
        run_id="run",
        at=START + timedelta(hours=later),
    )


def report(*, valid: bool = False) -> ValidationReport:
    """A validation of 2 controls that were killed, or one that found a no-op that passed."""
    controls = [
        ControlResult(path="/app/out", kind=ControlKind.EMPTIED, what="emptied", killed=killed)
        for killed in ((True, True) if valid else (True, False, None))
    ]
    if valid:
        graded = GradeReport(reward=1.0, tests=(), executed=7, seconds=1.0, output="")
        return ValidationReport(
            bundle="b", verdict=True, gates=(), noop_runs=(), oracle_runs=(graded,), controls=tuple(controls)
        )
    gates = (
        GateResult(gate=Gate.BUILD, passed=True, runs=1, evidence=""),
        GateResult(
            gate=Gate.NOOP,
            passed=False,
            runs=2,
            evidence="",
            component=Component.VERIFIER,
            reason=Reason.NOOP_PASSED,
        ),
        GateResult(gate=Gate.ORACLE, passed=None, runs=0, evidence=""),
    )
    return ValidationReport(
        bundle="b", verdict=False, gates=gates, noop_runs=(), oracle_runs=(), controls=tuple(controls)
    )


def trial(attempt: int, reward: float | None, stop: StopReason, turns: int) -> Trial:
    """An attempt of the teacher on s1, each turn of 110 tokens and half a US dollar."""
    turn = Turn(
        number=0,
        prompt="",
        raw="",
        analysis="",
        plan="",
        commands=(),
        task_complete=False,
        parse_error=None,
        observation="",
        prompt_tokens=100,
        completion_tokens=10,
        cost_usd=0.5,
        at=START,
    )
    return Trial(
        seed="s1",
        task="org/s1",
        bundle="b" * 64,
        attempt=attempt,
        model="teacher",
        recorded=False,
        stop=stop,
        reward=reward,
        grade=None,
        turns=(turn,) * turns,
        seconds=4.0,
        started_at=START,
        run_id="run",
    )


def call(store: ParquetStore, station: str, subject: str, **changes: object) -> None:
    """Write a call of 100 and 10 tokens into the ledger, 2 US dollars."""
    ledger = StoreLedger(
        store, names=ROLE_NAMES, prices={Role.AUTHOR: (1e4, 1e5)}, budget_tokens=None, budget_usd=None, run_id="run"
    )
    request = ChatRequest(
        call=CallId(station=station, subject=subject),
        role=Role.AUTHOR,
        messages=(Message(role="user", content="hello"),),
        prompt_hash="p",
    )
    completion = Completion(text="a", model="m", prompt_tokens=100, completion_tokens=10, seconds=2.0)
    ledger.write(request, completion.model_copy(update=changes))


def folder(path: str, state: Literal["kept", "refused", "removed"], ingest: int = 1) -> SkillEntry:
    """A folder of skills as an ingest found it."""
    return SkillEntry(
        ingest=ingest, collection="s", source="s", path=path, state=state, fingerprint=path, content_hash=path
    )


def fill(store: ParquetStore) -> None:
    """Three skills and one reject; s1 accepted at once, s2 after two rounds (pending before), s3 rejected."""
    for name in ("a", "b", "c"):
        store.put(Skill(skill_id=name, source="s", path=name, content_hash=name, name=name, description="d", body="b"))
        store.put(folder(name, "kept"))
    store.put(SkillReject(source="s", path="d", content_hash="d", fault=SkillFault.UNSAFE, evidence="e"))
    store.put(folder("d", "refused"))
    store.put(folder("e", "kept"))
    store.put(folder("e", "removed", ingest=2))
    for seed in ("s1", "s2", "s3"):
        store.put(ScenarioSeed(seed_id=seed, title=seed, skill_ids=("a",), hypothesis_ids=(), rationale=""))
        store.put(version(seed, 0, Component.INSTRUCTION, Instruction(text="old words", clauses={})))
        store.put(version(seed, 1, Component.INSTRUCTION, Instruction(text="Do\nthis  now.", clauses={})))
    for seed, repairs in (("s1", 0), ("s2", 1)):
        store.put(version(seed, 9, Component.ENVIRONMENT, an_environment(build_repairs=repairs)))
    store.put(version("s1", 10, Component.VALIDATION, report(valid=True)))
    failed = Rejected(component=Component.ENVIRONMENT, reason=Reason.BUILD_FAILED, evidence="e")
    store.put(version("s3", 2, Component.ENVIRONMENT, failed))
    store.put(version("s2", 3, Component.VALIDATION, report()))
    task = Task(name="org/s1", bundle="b", rounds={}, tests=4, directory="tasks/s1")
    store.put(version("s1", 4, Component.TASK, task))
    store.put(outcome("s1", Status.ACCEPTED, rounds=0))
    store.put(outcome("s2", Status.PENDING, rounds=1))
    store.put(outcome("s2", Status.ACCEPTED, rounds=2, later=1))
    store.put(outcome("s3", Status.REJECTED, rounds=2, reason=Reason.REPAIRS_EXHAUSTED))
    for station, subject, recorded in (
        ("scenario.analysis", "s1", False),
        ("scenario.evolution", "s1", False),
        ("rollout.turn", "s1", False),
        ("scenario.analysis", "s2", True),
    ):
        call(store, station, subject, recorded=recorded)
    store.put(trial(0, 1.0, StopReason.COMPLETED, turns=3))
    store.put(trial(1, 0.0, StopReason.TURN_LIMIT, turns=5))
    store.put(trial(2, None, StopReason.INFRASTRUCTURE, turns=0))
