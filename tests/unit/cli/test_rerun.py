"""`facet rerun`: a verdict is told as a verdict, trouble as trouble."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from facet_dagster.cli.main import app, guarded
from facet_dagster.cli.run import RunFailed, raise_for_pending
from facet_dagster.records.base import now
from facet_dagster.records.bundle import Body, ComponentVersion, Origin, SeedOutcome, Status
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.validation import Gate, GateResult, ValidationReport
from facet_dagster.testing.memory_store import MemoryStore

SEED = ScenarioSeed(seed_id="s-1", title="S", skill_ids=("a",), hypothesis_ids=(), rationale="")
EVIDENCE = "run 1: [red]test_r1_total[/] failed\nassert 2 == 3"
REFUSED = ValidationReport(
    bundle="b",
    verdict=False,
    gates=(
        GateResult(gate=Gate.BUILD, passed=True, runs=1, evidence="it starts"),
        GateResult(gate=Gate.ORACLE, passed=False, runs=1, evidence=EVIDENCE, reason=Reason.ORACLE_FAILED),
    ),
    noop_runs=(),
    oracle_runs=(),
)
FAILED = Rejected(component=Component.SOLUTION, reason=Reason.SOLUTION_FAILED, evidence="sort: cannot read\nmore")


def version(component: Component, body: Body) -> ComponentVersion:
    return ComponentVersion(
        seed="s-1",
        component=component,
        sequence=1,
        round=1,
        origin=Origin.BY_HAND,
        inputs={},
        diagnosis=None,
        code_version="1",
        run_id="r",
        at=now(),
        seconds=0,
        tokens=0,
        cost_usd=0,
        body=body,
    )


def ended(status: Status, component: Component | None, reason: Reason | None, evidence: str) -> SeedOutcome:
    return SeedOutcome(
        seed="s-1",
        sequence=1,
        status=status,
        first_pass=False,
        rounds=1,
        component=component,
        reason=reason,
        evidence=evidence,
        run_id="r",
        at=now(),
    )


@pytest.fixture
def rerun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[ComponentVersion, SeedOutcome], int]:
    """Run `facet rerun s-1 solution`, in which nothing is made but what is given; the exit code."""
    store = MemoryStore()
    store.put(SEED)

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(store=store, tasks=tmp_path / "tasks")

    monkeypatch.setattr("facet_dagster.cli.rerun.ParquetStore", lambda _: store)
    monkeypatch.setattr("facet_dagster.cli.rerun.open_workshop", opened)
    monkeypatch.setattr("facet_dagster.cli.rerun.new_run_id", lambda: "r")
    monkeypatch.setattr("facet_dagster.definitions.open_instance", lambda _: nullcontext())
    monkeypatch.setattr("facet_dagster.definitions.register", lambda *_: None)

    def command(made: ComponentVersion, outcome: SeedOutcome) -> int:
        def materialise(*_: object) -> str:
            store.put(made)
            store.put(outcome)
            return "" if outcome.status is Status.ACCEPTED else "1 seed was not finished"

        monkeypatch.setattr("facet_dagster.cli.rerun.materialise", materialise)

        def call() -> None:
            try:
                app(["rerun", "s-1", "solution"])
            except SystemExit as end:
                codes.append(int(end.code or 0))

        codes: list[int] = []
        return guarded(call) or codes[0]

    return command


Rerun = Callable[[ComponentVersion, SeedOutcome], int]


def test_a_failed_validation_names_the_gate(rerun: Rerun, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = ended(Status.PENDING, Component.SOLUTION, Reason.ORACLE_FAILED, EVIDENCE)
    assert rerun(version(Component.VALIDATION, REFUSED), outcome) == 1
    captured = capsys.readouterr()
    assert "not accepted: G3-oracle: run 1: [red]test_r1_total[/] failed\n" in captured.out
    assert "assert 2 == 3" not in captured.out and "trouble" not in captured.out + captured.err


def test_a_component_that_could_not_be_made_is_named(rerun: Rerun, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = ended(Status.PENDING, Component.SOLUTION, Reason.SOLUTION_FAILED, FAILED.evidence)
    assert rerun(version(Component.SOLUTION, FAILED), outcome) == 1
    assert "not accepted: solution: sort: cannot read\n" in capsys.readouterr().out


def test_trouble_is_trouble(rerun: Rerun, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = ended(Status.PENDING, None, None, "ModelUnavailable: no answer")
    assert rerun(version(Component.SOLUTION, FAILED), outcome) == 3
    assert "no answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("evidence", "code"), [("BudgetSpent: no money", 5), ("OSError: full", 4), ("__doc__: x", 4), ("", 4)]
)
def test_only_trouble_of_ours_has_an_exit_code_of_its_own(evidence: str, code: int) -> None:
    store = MemoryStore()
    store.put(ended(Status.PENDING, None, None, evidence))
    with pytest.raises(RunFailed) as raised:
        raise_for_pending(SimpleNamespace(store=store), "r")  # type: ignore[arg-type]
    assert raised.value.exit_code == code
