"""The pages of the skills assets: counts, schemas, pictures, and checks that warn and never fail a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from facet_dagster.definitions import SKILLS, materialise
from facet_dagster.records.skill import Skill, SkillReject
from facet_dagster.yields.bars import MOST, bars_png

STEPS = "\n".join(f"{n}. Compare column {n} of the table with its sum and write row {n * 7}." for n in range(30))


def write(root: Path, name: str, extra: str = "") -> None:
    (root / name).mkdir(parents=True)
    (root / name / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: Does {name} with a table.\n---\n# Work\n\n"
        f"```bash\nsort -u table.csv | head -5\n```\n\n{STEPS}\n{extra}\n"
    )


def metadata(instance: dg.DagsterInstance, asset: str) -> Mapping[str, Any]:
    (record,) = instance.fetch_materializations(dg.AssetKey(asset), limit=1).records
    event = record.asset_materialization
    assert event is not None
    return event.metadata


def checks(instance: dg.DagsterInstance) -> dict[str, tuple[bool, dg.AssetCheckSeverity]]:
    events = instance.all_logs(instance.get_runs(limit=1)[0].run_id)
    found = [
        e.dagster_event.asset_check_evaluation_data
        for e in events
        if e.dagster_event and e.dagster_event.event_type_value == "ASSET_CHECK_EVALUATION"
    ]
    return {each.check_name: (each.passed, each.severity) for each in found}


def test_pages_show_counts_schemas_and_pictures(overrides: Mapping[str, object], tmp_path: Path) -> None:
    write(tmp_path, "sums")
    write(tmp_path, "sums-again", "And one more line.")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "SKILL.md").touch()
    with dg.DagsterInstance.ephemeral() as instance:
        assert materialise(SKILLS, instance=instance, overrides=overrides).success
        skills, rejects = metadata(instance, "skills"), metadata(instance, "skill_rejects")
        assert (skills["dagster/row_count"].value, rejects["dagster/row_count"].value) == (1, 2)
        for page, kind in ((skills, Skill), (rejects, SkillReject)):
            columns = [column.name for column in page["dagster/column_schema"].value.columns]
            assert columns == list(kind.model_fields)
        assert "data:image/png;base64," in skills["categories"].value
        assert "data:image/png;base64," in rejects["picture"].value
        assert "| 2 | 1 |" in skills["cluster_sizes"].value
        assert "near_duplicate" in rejects["reasons"].value and "sums" in skills["sample"].value
        assert {name: passed for name, (passed, _) in checks(instance).items()} == {
            "duplicate_rate": True,
            "reject_rate": True,
            "unreadable_rate": True,
        }


def test_odd_rates_warn_and_the_run_goes_on(overrides: Mapping[str, object], tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"bad-{number}").mkdir()
        (tmp_path / f"bad-{number}" / "SKILL.md").write_bytes(b"\xff")
    with dg.DagsterInstance.ephemeral() as instance:
        assert materialise(SKILLS, instance=instance, overrides=overrides).success
        found = checks(instance)
    assert {name for name, (passed, _) in found.items() if not passed} == {"reject_rate", "unreadable_rate"}
    assert {severity for _, severity in found.values()} == {dg.AssetCheckSeverity.WARN}


def test_a_picture_of_many_bars_is_cut() -> None:
    many = bars_png("many", {f"name{n}": n for n in range(MOST * 3)})
    few = bars_png("few", {"a": 1})
    assert many.startswith(b"\x89PNG") and few.startswith(b"\x89PNG")
    assert bars_png("none", {}).startswith(b"\x89PNG")
    assert len(many) > len(few)
