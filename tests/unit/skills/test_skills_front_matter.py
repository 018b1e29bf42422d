"""Front matter where it should not be, and values that are not what they should be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.front_matter import Front, read_front_matter
from facet_dagster.skills.refusal import Refusal

FIELDS = "name: tidy-tables\ndescription: Cleans tables with awk and sort."
BODY = "# Tidy\n\nRun `awk`."


@given(st.text(max_size=400))
def test_arbitrary_text_never_crashes(text: str) -> None:
    assert isinstance(read_front_matter(text), Front | Refusal)


@given(st.text(alphabet="abn:-#|>&*!{}[]'\",\n \t0123456789.~%@`?<", max_size=200))
def test_arbitrary_yaml_never_crashes(block: str) -> None:
    result = read_front_matter(f"---\nname: x\ndescription: long enough here\n{block}\n---\nbody")
    assert isinstance(result, Front | Refusal)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (f"---\n{FIELDS}\n---\n{BODY}", ""),
        (f"\n\n---\n{FIELDS}\n---\n{BODY}", "blank lines"),
        (f"<!-- from\nelsewhere -->\n---\n{FIELDS}\n---\n{BODY}", "after a comment"),
        (f"```skill\n---\n{FIELDS}\n---\n```\n{BODY}", "code fence"),
        (f"```yaml\n---\n{FIELDS}\n---\n{BODY}\n```", "code fence"),
        (f"{FIELDS}\n---\n{BODY}", "no opening delimiter"),
        (f"---\n{FIELDS}\n{BODY}", "never closed"),
        (f"---\n{FIELDS}\n---{BODY}", "glued"),
        (f"# Late\n\n---\n{FIELDS}\n---\n{BODY}", "below other text"),
        (f"---\n{FIELDS}\nname: tidy-tables\n---\n{BODY}", "doubled key name"),
        (f"---\n{FIELDS}\nmeta:\n  - {{os: a, os: b}}\n---\n{BODY}", "doubled key os"),
        (f"---\n{FIELDS}\nwhen: 2024-99-99\nflag: !!bool maybe\n---\n{BODY}", ""),
        (f"---\n{FIELDS} Use when this capability is needed.\n---\n{BODY}", "filler sentence removed"),
    ],
)
def test_front_matter_is_found_and_recovery_is_noted(text: str, note: str) -> None:
    front = read_front_matter(text)
    assert isinstance(front, Front)
    assert front.values.name == "tidy-tables"
    assert front.values.description == "Cleans tables with awk and sort."
    assert front.body.strip().endswith(BODY)
    assert any(note in each for each in front.notes) if note else front.notes == ()


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("Two paths: one direct, one not.", "Two paths: one direct, one not."),
        ("**Bold** words first in the text", "**Bold** words first in the text"),
        ('"a path such as \\Users\\x is here"', "a path such as \\Users\\x is here"),
        ("> Use this on a broken header", "Use this on a broken header"),
    ],
)
def test_broken_yaml_is_read_line_by_line(description: str, expected: str) -> None:
    front = read_front_matter(f"---\nname: tidy\ndescription: {description}\ntags: [a, b\n---\n{BODY}")
    assert isinstance(front, Front)
    assert front.values.description == expected
    assert any("line by line" in note for note in front.notes)


def test_the_second_of_two_blocks_is_the_authors() -> None:
    text = f"---\nname: wrapper\ndescription: Wrapped by a collection.\n---\n\n---\n{FIELDS}\n---\n{BODY}"
    front = read_front_matter(text)
    assert isinstance(front, Front)
    assert front.values.name == "tidy-tables"
    assert front.body.strip() == BODY


@pytest.mark.parametrize(("value", "spelling"), [("8004", "8004"), ("yes", "yes"), ("2024-01-02", "2024-01-02")])
def test_a_name_that_is_no_text_keeps_its_spelling(value: str, spelling: str) -> None:
    front = read_front_matter(f"---\nname: {value}\ndescription: long enough here\n---\n{BODY}")
    assert isinstance(front, Front)
    assert front.values.name == spelling
    assert any("spelling is kept" in note for note in front.notes)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", SkillFault.EMPTY_BODY),
        (" \n\n", SkillFault.EMPTY_BODY),
        ("../../other/SKILL.md", SkillFault.UNREADABLE),
        ("# Only a body\n\ntext", SkillFault.NO_FRONT_MATTER),
        ("---\n---\nbody", SkillFault.BAD_FRONT_MATTER),
        ("---\n- a\n- b\n---\nbody", SkillFault.BAD_FRONT_MATTER),
        ("---\n## name: swallowed by a heading\n---\nbody", SkillFault.BAD_FRONT_MATTER),
        ("---\ndescription: long enough here\n---\nbody", SkillFault.NO_NAME),
        ("---\nname:\ndescription: long enough here\n---\nbody", SkillFault.NO_NAME),
        ("---\nname: [a, b]\ndescription: long enough here\n---\nbody", SkillFault.NO_NAME),
        ("---\nname: a\n---\nbody", SkillFault.NO_DESCRIPTION),
        ("---\nname: a\ndescription: {x: y}\n---\nbody", SkillFault.NO_DESCRIPTION),
        ("---\nname: a\ndescription: [TODO: say what it does]\n---\nbody", SkillFault.NO_DESCRIPTION),
        ("---\nname: a\ndescription: 'TODO: say what it does'\n---\nbody", SkillFault.NO_DESCRIPTION),
        ("---\nname: a\ndescription: Your description here\n---\nbody", SkillFault.NO_DESCRIPTION),
        ("---\nname: a\ndescription: > Use when this capability is needed.\n---\nbody", SkillFault.NO_DESCRIPTION),
        ("---\nname: a\ndescription: short\n---\nbody", SkillFault.NO_DESCRIPTION),
    ],
)
def test_unusable_front_matter_has_one_fault(text: str, fault: SkillFault) -> None:
    result = read_front_matter(text)
    assert isinstance(result, Refusal)
    assert result.fault is fault
    assert result.evidence


def test_a_description_about_todo_lists_is_no_placeholder() -> None:
    front = read_front_matter("---\nname: a\ndescription: TODO lists kept in a file, with priorities.\n---\nbody")
    assert isinstance(front, Front)


def test_nesting_without_end_is_survived() -> None:
    result = read_front_matter(f"---\n{FIELDS}\nx: {'[' * 700}\n---\n{BODY}")
    assert isinstance(result, Front)
    assert result.values.name == "tidy-tables"
