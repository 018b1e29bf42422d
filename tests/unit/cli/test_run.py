"""`facet run` from the outside of its stages."""

from contextlib import nullcontext
from pathlib import Path

import pytest
from rich.console import Console

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.cli.run import run_line
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.settings import Settings
from facet_dagster.under_way import is_line_under_way

SEED = ScenarioSeed(seed_id="mend-a-log-12ab", title="t", skill_ids=(), hypothesis_ids=(), rationale="")


def test_sensors_can_see_that_it_is_at_work_until_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, seen = tmp_path / "home", []

    def interrupted(*given: object) -> str:
        seen.append(is_line_under_way(home))
        raise KeyboardInterrupt

    monkeypatch.setattr("facet_dagster.cli.run.open_workshop", lambda *_, **__: nullcontext())
    monkeypatch.setattr("facet_dagster.cli.run.materialise", interrupted)
    ParquetStore(str(tmp_path / "store")).put(SEED)
    settings = Settings(store=str(tmp_path / "store"), dagster_home=home)
    with pytest.raises(KeyboardInterrupt):
        run_line(settings, Console(quiet=True), seeds=[SEED.seed_id], record=None)
    assert seen == [True] and not is_line_under_way(home)
