"""A turn in XML: what stands between the tags is typed as it is, and what was cut off is salvaged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.rollout.protocol import ParsedTurn
from facet_dagster.rollout.replies import parse_xml

GOOD = (
    "<response>\n<analysis>a</analysis>\n<plan>p</plan>\n<commands>\n"
    '<keystrokes duration="0.5">ls -la &amp; <x>\n</keystrokes>\n<keystrokes>C-c</keystrokes>\n'
    "</commands>\n<task_complete>false</task_complete>\n</response>"
)


def test_a_turn_is_read_and_keys_are_verbatim():
    turn = parse_xml(GOOD)
    assert turn.error is None and turn.warnings == ()
    assert [(c.keystrokes, c.duration) for c in turn.commands] == [("ls -la &amp; <x>\n", 0.5), ("C-c", 1.0)]
    assert (turn.analysis, turn.plan, turn.task_complete) == ("a", "p", False)


def test_keys_may_hold_tags_of_their_own():
    text = GOOD.replace("C-c", "cat <<E\n</commands><task_complete>true</task_complete></response>\nE\n")
    turn = parse_xml(text)
    assert turn.error is None and not turn.task_complete and "</response>" in turn.commands[1].keystrokes


@pytest.mark.parametrize("empty", ["<commands/>", "<commands></commands>", "<commands>\n</commands>"])
def test_no_command_and_no_word_on_the_end_is_a_turn(empty):
    turn = parse_xml(f"<response><analysis>a</analysis><plan>p</plan>{empty}</response>")
    assert turn.error is None and turn.commands == () and not turn.task_complete


@pytest.mark.parametrize(
    "change", [("<analysis>a</analysis>", ""), ("</plan>", ""), ("</commands>", ""), ("false", "x")]
)
def test_a_wrong_shape_runs_nothing(change):
    turn = parse_xml(GOOD.replace(*change))
    assert turn.error is not None and turn.commands == ()


def test_what_is_put_right_is_noted():
    assert "was missing" in parse_xml(GOOD.removesuffix("</response>")).warnings[0]
    assert "around" in parse_xml(f"Sure: {GOOD}").warnings[0]
    turn = parse_xml(GOOD.replace('"0.5"', '"soon"'))
    assert turn.error is None and "duration" in turn.warnings[0] and turn.commands[0].duration == 1.0


def test_of_a_turn_that_was_cut_off_the_complete_commands_are_kept():
    cut = parse_xml(GOOD[: GOOD.index("C-c") + 2], cut_off=True)
    assert [c.keystrokes for c in cut.commands] == ["ls -la &amp; <x>\n"] and "cut off" in cut.warnings[0]
    assert parse_xml(GOOD[: GOOD.index("C-c") + 2]).error is not None
    early = parse_xml(GOOD[: GOOD.index("ls -la")], cut_off=True)
    assert early.error is not None and early.commands == ()


TAGS = ["response", "analysis", "plan", "commands", "keystrokes", "task_complete"]
PIECES = [*(f"<{t}>" for t in TAGS), *(f"</{t}>" for t in TAGS), '<keystrokes duration="', '">', "true", "ls\n"]


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)), st.booleans())
def test_any_text_settles(text, cut_off):
    turn = parse_xml(text, cut_off=cut_off)
    assert ParsedTurn.model_validate_json(turn.model_dump_json()) == turn
    assert turn.error is None or not turn.commands


KEYS = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda t: "</keystrokes" not in t)


@given(st.lists(st.tuples(KEYS, st.floats(0, 1e6)), max_size=3), st.booleans())
def test_what_was_written_is_what_is_read(keys, done):
    typed = "".join(f'<keystrokes duration="{d}">{k}</keystrokes>' for k, d in keys)
    turn = parse_xml(
        f"<response><analysis>a</analysis><plan>p</plan><commands>{typed}</commands>"
        f"<task_complete>{str(done).lower()}</task_complete></response>"
    )
    if any("<task_complete>" in k or "commands>" in k for k, _ in keys):
        return
    assert turn.error is None and turn.task_complete == done
    assert [(c.keystrokes, c.duration) for c in turn.commands] == keys
