"""What a turn means, whatever the model wrote."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facet_dagster.rollout.protocol import ParsedTurn, parse_turn

GOOD = {
    "analysis": "a",
    "plan": "p",
    "commands": [{"keystrokes": "ls\n", "duration": 0.5}, {"keystrokes": "C-c"}],
    "task_complete": False,
}


def test_a_turn_is_read():
    turn = parse_turn(json.dumps(GOOD))
    assert turn.error is None and turn.warnings == ()
    assert [(c.keystrokes, c.duration) for c in turn.commands] == [("ls\n", 0.5), ("C-c", 1.0)]
    assert (turn.analysis, turn.plan, turn.task_complete) == ("a", "p", False)


@pytest.mark.parametrize("around", ["Sure:\n{}", "```json\n{}\n```", "{}\nDone.", "<think>{{}}</think>note {}"])
def test_prose_and_fences_are_forgiven_and_noted(around):
    turn = parse_turn(around.replace("{}", json.dumps(GOOD)).replace("{{", "{").replace("}}", "}"))
    assert turn.error is None and len(turn.commands) == 2
    assert any("around" in warning for warning in turn.warnings)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"commands": "ls"}, "commands"),
        ({"commands": ["ls"]}, "command 1"),
        ({"commands": [{"keystrokes": 5}]}, "keystrokes"),
        ({"commands": [{"duration": 5}]}, "keystrokes"),
        ({"analysis": None}, "analysis"),
        ({"plan": ["x"]}, "plan"),
        ({"task_complete": "perhaps"}, "task_complete"),
        ({"task_complete": 1}, "task_complete"),
    ],
)
def test_a_wrong_shape_runs_nothing_and_names_the_field(change, said):
    turn = parse_turn(json.dumps({**GOOD, **change}))
    assert turn.error is not None and said in turn.error
    assert turn.commands == () and not turn.task_complete


@pytest.mark.parametrize("missing", ["analysis", "plan", "commands"])
def test_a_missing_field_is_named(missing):
    turn = parse_turn(json.dumps({k: v for k, v in GOOD.items() if k != missing}))
    assert turn.error is not None and missing in turn.error


def test_a_cut_off_turn_is_an_error_not_half_a_command():
    text = json.dumps(GOOD)
    assert all(parse_turn(text[:end], cut_off=True).commands == () for end in range(len(text)))


def test_only_closing_brackets_are_added_and_that_is_noted():
    text = json.dumps({k: v for k, v in GOOD.items() if k != "task_complete"})
    whole = parse_turn(text)
    for ending in ("}", "]}"):
        mended = parse_turn("Sure: " + text.removesuffix(ending))
        assert mended.error is None and mended.commands == whole.commands
        assert "brackets" in mended.warnings[0]
    short = {parse_turn(text[:end]).commands for end in range(len(text))}
    assert short <= {(), whole.commands[:1], whole.commands}


@pytest.mark.parametrize("duration", ["NaN", "Infinity", "-1", '"soon"', "true", "null", "1" * 400])
def test_an_impossible_duration_is_replaced_and_noted(duration):
    turn = parse_turn(
        '{"analysis":"","plan":"","commands":[{"keystrokes":"x","duration":' + duration + "}]}",
    )
    assert turn.error is None
    assert turn.commands[0].duration == 1.0 and "duration" in turn.warnings[0]


def test_unknown_fields_are_ignored_and_noted():
    turn = parse_turn(json.dumps({**GOOD, "mood": "good", "commands": [{"keystrokes": "x", "is_blocking": True}]}))
    assert turn.error is None and len(turn.warnings) == 2


def test_task_complete_as_text_is_understood():
    assert parse_turn(json.dumps({**GOOD, "task_complete": "true"})).task_complete


def test_half_a_surrogate_pair_can_be_stored():
    turn = parse_turn(r'{"analysis":"\ud800","plan":"","commands":[{"keystrokes":"\udfff"}]}')
    assert ParsedTurn.model_validate_json(turn.model_dump_json()) == turn


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELD = st.sampled_from(["analysis", "plan", "commands", "task_complete", "keystrokes", "duration"])


def settles(text: str) -> bool:
    """Either an error and nothing to run, or a turn that can be stored."""
    turn = parse_turn(text)
    stored = ParsedTurn.model_validate_json(turn.model_dump_json())
    return stored == turn and (turn.error is None or not turn.commands)


@given(st.text())
def test_any_text_settles(text):
    assert settles(text)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(FIELD, JSON | st.lists(st.dictionaries(FIELD, JSON, max_size=3), max_size=3), max_size=6))
def test_any_object_settles(value):
    assert settles(json.dumps(value))


@given(st.lists(st.sampled_from(["{", "}", "[", "]", '"', "\\", ":", ",", "analysis", "<think>", "\n", "1"])))
def test_any_heap_of_brackets_settles(parts):
    assert settles("".join(parts))


@given(st.text(), st.text(), st.lists(st.tuples(st.text(), st.floats(0, 1e6)), max_size=3), st.booleans())
def test_what_was_written_is_what_is_read(analysis, plan, keys, done):
    commands = [{"keystrokes": k, "duration": d} for k, d in keys]
    value = {"analysis": analysis, "plan": plan, "commands": commands, "task_complete": done}
    turn = parse_turn(json.dumps(value))
    assert (turn.analysis, turn.plan, turn.task_complete) == (analysis, plan, done)
    assert [(c.keystrokes, c.duration) for c in turn.commands] == keys
