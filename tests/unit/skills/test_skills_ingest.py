"""The front door: every folder found ends in exactly one of two places, deterministically."""

import os
import re
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pytest

from facet_dagster.errors import SettingsError
from facet_dagster.records.skill import Skill, SkillFault, SkillReject
from facet_dagster.skills.ingest import ingest
from facet_dagster.skills.reading import Text, judge, slug_of
from facet_dagster.skills.refusal import Refusal
from facet_dagster.skills.sources.detect import open_source
from facet_dagster.skills.sources.entry import MAX_BYTES
from facet_dagster.skills.usable import usable_skills
from facet_dagster.testing.memory_store import MemoryStore

REPOSITORY = Path(__file__).parents[3]
SHARED = REPOSITORY.parent / "shared"
STEPS = "\n".join(
    f"{n}. Compare column {n} of the table with its sum and write row {n * 7} down." for n in range(1, 30)
)
BODY = (
    f"# Work\n\nRead `table.csv` first.\n\n```bash\nsort -u table.csv | head -5   # order; then look\n```\n\n{STEPS}\n"
)


class Ingest(NamedTuple):
    skills: tuple[Skill, ...]
    rejects: tuple[SkillReject, ...]


def read_skills(root: Path, *, source: str = "") -> Ingest:
    """One source into an empty store; what came of it by path."""
    store = MemoryStore()
    ingest([open_source(root, source)], store)
    return Ingest(
        tuple(sorted(usable_skills(store), key=lambda skill: skill.path)),
        tuple(sorted(store.rows(SkillReject), key=lambda reject: reject.path)),
    )


def write(
    root: Path, name: str, body: str = BODY, *, file: str = "SKILL.md", head: str | None = None, licence: str = ""
) -> Path:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    front = head if head is not None else f"name: {folder.name}\ndescription: Does {name} with a table.\n{licence}"
    (folder / file).write_text(f"---\n{front}\n---\n{body}", encoding="utf-8")
    return folder


def faults(result: Ingest) -> dict[str, SkillFault]:
    return {reject.path: reject.fault for reject in result.rejects}


def test_a_missing_root_is_one_line_of_trouble(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read_skills(tmp_path / "nowhere")
    assert "nowhere" in str(caught.value) and "\n" not in str(caught.value)


def test_an_empty_root_gives_nothing(tmp_path: Path) -> None:
    assert read_skills(tmp_path) == Ingest((), ())


def test_a_skill_is_normalised(tmp_path: Path) -> None:
    folder = write(tmp_path, "sums", licence="license: Apache-2.0 license")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "run.py").write_text("print()")
    (skill,) = read_skills(tmp_path, source="mine").skills
    assert (skill.source, skill.path, skill.name) == ("mine", "sums", "sums")
    assert re.fullmatch(r"sums-[0-9a-f]{8}", skill.skill_id)
    assert skill.tools == ("sort", "head")
    assert skill.steps[0].startswith("Compare column 1")
    assert skill.inputs_outputs == ("table.csv",)
    assert skill.siblings == ("scripts/run.py",)
    assert skill.licence == "Apache-2.0"
    assert skill.notes == ()


def test_a_licence_file_of_the_folder_comes_before_the_front_matter(tmp_path: Path) -> None:
    folder = write(tmp_path, "sums", licence="license: MIT")
    (folder / "LICENSE.txt").write_text("Apache License\nVersion 2.0, January 2004")
    (tmp_path / "LICENSE").write_text("MIT License")
    assert read_skills(tmp_path).skills[0].licence == "Apache-2.0"


def test_any_case_nested_and_grouped_folders_are_found(tmp_path: Path) -> None:
    write(tmp_path, "a", BODY + "first", file="skill.md")
    write(tmp_path, "group/deep/b", BODY.replace("Compare", "Contrast").replace("sum", "mean"), file="Skill.MD")
    write(tmp_path, "a/inner", BODY.replace("column", "field").replace("row", "line"))
    result = read_skills(tmp_path)
    assert [skill.path for skill in result.skills] == ["a", "a/inner", "group/deep/b"]
    assert result.skills[0].siblings == ()
    assert result.rejects == ()


def test_folders_without_a_file_are_reported(tmp_path: Path) -> None:
    (tmp_path / "lost").mkdir()
    (tmp_path / "lost" / "notes.txt").write_text("x")
    (tmp_path / "LICENSES").mkdir()
    (tmp_path / "LICENSES" / "one__LICENSE").write_text("MIT")
    (reject,) = read_skills(tmp_path).rejects
    assert (reject.path, reject.fault, reject.evidence) == ("lost", SkillFault.UNREADABLE, "no SKILL.md")


def test_links_never_lead_out_of_the_tree(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    write(outside, "secret")
    write(root, "real")
    for name in ("out", "dangling", "in"):
        (root / name).mkdir()
    (root / "out" / "SKILL.md").symlink_to(outside / "secret" / "SKILL.md")
    (root / "dangling" / "SKILL.md").symlink_to(root / "nothing")
    (root / "in" / "SKILL.md").symlink_to(root / "real" / "SKILL.md")
    (root / "folder-out").symlink_to(outside / "secret")
    (root / "folder-in").symlink_to(root / "real")
    (root / "real" / "circle").symlink_to(root)
    result = read_skills(root)
    assert [skill.path for skill in result.skills] == ["real"]
    assert faults(result) == {
        "dangling": SkillFault.UNREADABLE,
        "folder-in": SkillFault.DUPLICATE,
        "folder-out": SkillFault.UNREADABLE,
        "in": SkillFault.DUPLICATE,
        "out": SkillFault.UNREADABLE,
    }


def test_duplicates_leave_the_best_copy_whatever_the_order(tmp_path: Path) -> None:
    write(tmp_path, "a-bare")
    write(tmp_path, "b-licensed", BODY.replace("first.", "first!").upper(), licence="license: MIT")
    (write(tmp_path, "c-complete") / "helper.py").write_text("print()")
    write(tmp_path, "d-near", f"{BODY}\nOne more closing line.\n")
    write(tmp_path, "e-other", BODY.replace("Compare", "Contrast").replace("sum", "mean").replace("row", "line"))
    result = read_skills(tmp_path)
    assert [skill.path for skill in result.skills] == ["b-licensed", "e-other"]
    assert faults(result) == {
        "a-bare": SkillFault.DUPLICATE,
        "c-complete": SkillFault.DUPLICATE,
        "d-near": SkillFault.NEAR_DUPLICATE,
    }
    assert all("b-licensed" in reject.evidence for reject in result.rejects)
    assert {reject.cluster for reject in result.rejects} == {result.skills[0].skill_id}


def test_rejects_of_equal_bytes_have_keys_of_their_own(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").touch()
    first, second = read_skills(tmp_path).rejects
    assert first.content_hash == second.content_hash
    assert first.key != second.key
    assert re.fullmatch(r"[\w.-]+", first.key)


def test_unreadable_things_named_like_a_skill(tmp_path: Path) -> None:
    (tmp_path / "folder" / "SKILL.md").mkdir(parents=True)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "SKILL.md")
    write(tmp_path, "huge", "x" * MAX_BYTES)
    assert faults(read_skills(tmp_path)) == {
        "folder": SkillFault.UNREADABLE,
        "huge": SkillFault.TOO_LARGE,
        "pipe": SkillFault.UNREADABLE,
    }


def test_folder_names_that_are_not_utf8_can_be_stored(tmp_path: Path) -> None:
    strange = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    strange.mkdir()
    (strange / "SKILL.md").write_text(f"---\nname: cafe\ndescription: Does cafe with a table.\n---\n{BODY}")
    (skill,) = read_skills(tmp_path).skills
    assert skill.path == "caf\\xe9"
    assert skill.model_dump_json()


def test_footer_secret_and_dangling_file_are_noted(tmp_path: Path) -> None:
    token = "ghp_" + "Zq8Lw2Nv5Rt7Yb4Mx9Ck1PdHs3Jf6Gk0Ta"
    footer = "\n---\n> Converted by [TomeVault](https://x.invalid)\n<!-- tomevault:4.0 -->\n"
    write(tmp_path, "sums", f"{BODY}\nSee references/more.md and {token}.\n{footer}")
    (skill,) = read_skills(tmp_path).skills
    assert token not in skill.model_dump_json()
    assert "TomeVault" not in skill.body
    assert [note.split(":")[0] for note in skill.notes] == [
        "masked",
        "footer of a collection removed",
        "names files that it does not bring",
    ]


@pytest.mark.parametrize(("name", "slug"), [("PDF  Tools!", "pdf-tools"), ("龙虾", "skill"), ("a" * 90, "a" * 48)])
def test_slugs(name: str, slug: str) -> None:
    assert slug_of(name) == slug


def test_two_readings_are_equal(tmp_path: Path) -> None:
    for name in ("x", "y", "z"):
        write(tmp_path, name, f"{BODY}\n{name}")
    assert read_skills(tmp_path) == read_skills(tmp_path)


def test_all_sample_skills_are_accepted() -> None:
    result = read_skills(REPOSITORY / "data" / "skills")
    assert result.rejects == ()
    assert len(result.skills) == 14
    assert {skill.licence for skill in result.skills} == {"MIT"}
    assert all(skill.notes == () and skill.tools and skill.steps for skill in result.skills)


@pytest.mark.parametrize(("name", "least"), [("skills", 65), ("nasty-skills", 4)])
def test_public_skills_each_end_somewhere(name: str, least: int) -> None:
    root = SHARED / name
    if not root.is_dir():
        pytest.skip("no collection of public skills beside the checkout")
    result = read_skills(root)
    ends = [*(skill.path for skill in result.skills), *(reject.path for reject in result.rejects)]
    expected = {folder.name for folder in root.iterdir() if folder.is_dir() and folder.name != "LICENSES"}
    assert len(ends) == len(set(ends))
    assert set(ends) == expected
    assert len(result.skills) >= least
    assert all(reject.evidence and "\n" not in reject.evidence for reject in result.rejects)


def test_the_dangerous_public_skill_is_called_dangerous() -> None:
    root = SHARED / "nasty-skills"
    if not root.is_dir():
        pytest.skip("no collection of public skills beside the checkout")
    found = faults(read_skills(root))
    assert found["pipe-to-shell-1"] is SkillFault.UNSAFE
    assert found["non-utf8-1"] is SkillFault.UNREADABLE
    assert found["huge-1"] is SkillFault.TOO_LARGE
    assert found["lang-ja-1"] is SkillFault.OTHER_LANGUAGE


def test_rows_of_the_public_corpus_each_end_somewhere() -> None:
    dump = SHARED / "corpus" / "skills-20k.parquet"
    if not dump.is_file():
        pytest.skip("no corpus of public skills beside the checkout")
    entries = list(islice(open_source(dump).entries(), 400))
    ends = [entry.refusal or judge(entry.data, entry.size, entry.siblings).result for entry in entries]
    assert len({(entry.source, entry.path) for entry in entries}) == 400
    assert sum(isinstance(end, Text) for end in ends) >= 40
    assert all(end.evidence for end in ends if isinstance(end, Refusal))
