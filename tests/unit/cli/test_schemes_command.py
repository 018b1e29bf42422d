"""`facet schemes`: a seed that is pending under one scheme keeps neither the other scheme nor the report away."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.cli.run import RunFailed
from facet_dagster.cli.schemes import compare_schemes
from facet_dagster.errors import SettingsError
from facet_dagster.records.base import now
from facet_dagster.records.bundle import SeedOutcome, Status
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.terms import Scheme
from facet_dagster.settings import Settings

SEED = ScenarioSeed(seed_id="s-1", title="S", skill_ids=("a",), hypothesis_ids=(), rationale="")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(store=str(tmp_path / "store"))
    ParquetStore(settings.store).put(SEED)
    return settings


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The seeds that were walked, each of which ends as pending."""
    names: list[str] = []

    @contextmanager
    def opened(settings: Settings, *, run_id: str, **_: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(store=ParquetStore(settings.store), run_id=run_id)

    async def construct_seeds(seeds: list[ScenarioSeed], workshop: SimpleNamespace, _: object) -> None:
        for seed in seeds:
            names.append(seed.seed_id)
            workshop.store.put(
                SeedOutcome(
                    seed=seed.seed_id,
                    sequence=0,
                    status=Status.PENDING,
                    first_pass=False,
                    rounds=0,
                    evidence="ModelUnavailable: no answer",
                    run_id=workshop.run_id,
                    at=now(),
                )
            )

    monkeypatch.setattr("facet_dagster.cli.schemes.open_workshop", opened)
    monkeypatch.setattr("facet_dagster.cli.schemes.construct_seeds", construct_seeds)
    return names


def take(*schemes: Scheme) -> object:
    """A take-over that finds something to start from under these schemes only."""

    def taken(source: object, target: object, seeds: list[ScenarioSeed], scheme: Scheme) -> list[ScenarioSeed]:
        if scheme not in schemes:
            return []
        return [seed.model_copy(update={"seed_id": f"{seed.seed_id}-{scheme.value}"}) for seed in seeds]

    return taken


def test_trouble_is_raised_when_both_schemes_were_walked_and_reported(
    settings: Settings, walked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("facet_dagster.cli.schemes.take_over", take(Scheme.REVERSE, Scheme.JOINT))
    console = Console(record=True, width=200)
    with pytest.raises(RunFailed, match="s-1-reverse: ModelUnavailable") as raised:
        compare_schemes(settings, console, None, None)
    assert raised.value.exit_code == 3
    assert walked == ["s-1-reverse", "s-1-joint"]
    assert "yields on the same seeds" in console.export_text()


def test_a_scheme_with_nothing_to_start_from_does_not_keep_the_other_away(
    settings: Settings, walked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("facet_dagster.cli.schemes.take_over", take(Scheme.JOINT))
    with pytest.raises(RunFailed):
        compare_schemes(settings, Console(quiet=True), None, None)
    assert walked == ["s-1-joint"]


def test_nothing_to_start_from_at_all(settings: Settings, walked: list[str]) -> None:
    with pytest.raises(SettingsError, match="no seed with an environment"):
        compare_schemes(settings, Console(quiet=True), None, None)
    assert walked == []


def test_the_report_says_which_seeds_are_left_out_and_why(settings: Settings, walked: list[str]) -> None:
    from facet_dagster.cli.schemes import report

    console = Console(record=True, width=200)
    report(settings, console)
    shown = console.export_text()
    assert "0 of 1 seeds compared" in shown and "forward: not walked yet" in shown
