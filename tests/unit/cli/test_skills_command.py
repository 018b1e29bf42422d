"""`facet skills`: what was read, why one was kept or refused, and the counts."""

from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.cli.main import app, guarded
from facet_dagster.cli.skills import MOST_ANSWERS, show_stats, tell_why
from facet_dagster.errors import SettingsError
from facet_dagster.records.skill import Family, SkillClass, SkillEntry
from facet_dagster.skills.usable import usable_skills
from facet_dagster.testing.memory_store import MemoryStore

Run = Callable[..., int]
STEPS = "\n".join(f"{n}. Compare column {n} of the table with its sum and write row {n * 7}." for n in range(30))


def write(root: Path, name: str, extra: str = "") -> None:
    (root / name).mkdir(parents=True)
    (root / name / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: Does {name} with a table.\nlicense: MIT\n---\n# Work\n\n"
        f"```bash\nsort -u table.csv | head -5\n```\n\n{STEPS}\n{extra}\n"
    )


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    root = tmp_path / "skills"
    write(root, "sums")
    write(root, "sums-copy", "One [red]more[/] line.")
    (root / "empty").mkdir()
    (root / "empty" / "SKILL.md").touch()
    return root


@pytest.fixture
def run(tmp_path: Path, skills: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    for name, value in {"FACET_STORE": tmp_path / "store", "FACET_SKILLS": skills, "COLUMNS": "200"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("FACET_PROFILE", raising=False)

    def command(*arguments: str) -> int:
        codes: list[int] = []

        def call() -> None:
            try:
                app(["skills", *arguments])
            except SystemExit as end:
                codes.append(end.code if isinstance(end.code, int) else 1)

        trouble = guarded(call)
        return trouble or (codes[0] if codes else 0)

    return command


def test_ingest_reads_the_settings_source_and_says_what_came_of_it(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("ingest") == 0
    said = capsys.readouterr().out
    assert "3 found in skills: 3 new or changed, 0 removed" in said
    assert "now 1 kept, 2 refused (1 of them duplicates)" in said
    assert run("ingest") == 0
    assert "3 found in skills: 0 new or changed" in capsys.readouterr().out
    assert [skill.name for skill in usable_skills(ParquetStore(str(tmp_path / "store")))] == ["sums"]


def test_several_sources_at_once_and_one_line_for_anything_else(
    run: Run, skills: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "more", "other", "Another " * 300)
    assert run("ingest", str(skills), f"mine={tmp_path / 'more'}") == 0
    assert "4 found in skills, mine" in capsys.readouterr().out
    assert run("ingest", str(tmp_path / "nowhere")) == 2
    trouble = capsys.readouterr().err.strip()
    assert "does not exist" in trouble and "\n" not in trouble


@pytest.mark.parametrize("wanted", ["sums", "skills/sums", "sums/SKILL.md"])
def test_why_tells_of_a_kept_one(run: Run, wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    run("ingest")
    assert run("why", wanted) == 0
    said = capsys.readouterr().out
    assert "sums  kept" in said
    assert "licence  MIT" in said
    assert "copies   skills: sums-copy (refused)" in said


def test_why_tells_of_refused_ones(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("ingest")
    capsys.readouterr()
    assert run("why", "sums-copy") == 0
    assert "near_duplicate: Jaccard similarity 0.9" in capsys.readouterr().out
    assert run("why", "empty") == 0
    assert "empty_body: the file is empty" in capsys.readouterr().out
    assert run("why", "nobody") == 2
    assert "no skill 'nobody' among 3 folders" in capsys.readouterr().err


def test_stats_are_tables_with_bars(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("stats") == 2
    assert "facet skills ingest" in capsys.readouterr().err
    run("ingest")
    assert run("stats") == 0
    said = capsys.readouterr().out
    for part in ("what is left after every step", "near_duplicate", "MIT", "en", "2 copies", "█"):
        assert part in said


def test_a_name_of_many_and_the_model_s_class_are_told() -> None:
    store = MemoryStore()
    store.put_all(
        [
            SkillEntry(
                ingest=1,
                collection="c",
                source="s",
                path=f"p{n:02}",
                state="kept",
                fingerprint="f",
                content_hash=f"h{n}",
                name="[bold]same",
                skill_id=f"same-{n}",
                skill_key=f"same-{n}",
            )
            for n in range(MOST_ANSWERS + 3)
        ]
    )
    store.put(
        SkillClass(
            content_hash="h0",
            actionable=True,
            family=Family.DATA,
            category="tables",
            decided_by="model",
            evidence="sorts",
        )
    )
    console = Console(record=True, width=150)
    tell_why(store, "[bold]same", console)
    said = console.export_text()
    assert "actionable, data / tables, by model: sorts" in said
    assert "and 3 more of this name" in said and "[bold]same  kept" in said
    with pytest.raises(SettingsError):
        show_stats(MemoryStore(), console)
