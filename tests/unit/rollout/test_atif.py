"""The trajectory document: structure, numbering, and what stands where."""

import json
from datetime import UTC, datetime

from facet_dagster.records.rollout import Handover, HelperCall, Keystrokes, StopReason, Trial, Turn
from facet_dagster.rollout.atif import to_atif

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
# The keys that ATIF-v1.7 knows (every object forbids others).
TOP = {
    "schema_version", "session_id", "trajectory_id", "agent", "steps", "notes", "final_metrics", "extra",
    "continued_trajectory_ref", "subagent_trajectories",
}  # fmt: skip
STEP = {
    "step_id", "timestamp", "source", "message", "model_name", "reasoning_effort", "reasoning_content", "tool_calls",
    "observation", "metrics", "is_copied_context", "llm_call_count", "extra",
}  # fmt: skip


def turn(number: int, *keys: str, done: bool = False, error: str | None = None) -> Turn:
    return Turn(
        number=number,
        prompt=f"prompt {number}",
        raw=f"raw {number}",
        analysis="look",
        plan="go on",
        commands=tuple(Keystrokes(keystrokes=k) for k in keys),
        task_complete=done,
        parse_error=error,
        observation=f"screen {number}",
        prompt_tokens=10,
        completion_tokens=2,
        cost_usd=0.5,
        at=AT,
    )


def trial(*turns: Turn, reward: float | None = 1.0) -> Trial:
    return Trial(
        seed="s", task="org/s", bundle="b" * 64, attempt=1, model="m", recorded=True, stop=StopReason.COMPLETED,
        reward=reward, grade=None, turns=turns, seconds=3.0, started_at=AT, run_id="r",
    )  # fmt: skip


def test_steps_are_numbered_and_known_keys_only():
    document = to_atif(trial(turn(1, "ls\n"), turn(2, error="bad"), turn(3, "a", "b", done=True)))
    assert document["schema_version"] == "ATIF-v1.7"
    assert set(document) <= TOP and all(set(step) <= STEP for step in document["steps"])
    assert [step["step_id"] for step in document["steps"]] == [1, 2, 3, 4]
    assert [step["source"] for step in document["steps"]] == ["user", "agent", "agent", "agent"]
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_calls_have_ids_of_their_own_and_one_command_owns_its_observation():
    document = to_atif(trial(turn(1, "ls\n"), turn(2, "a", "b", done=True)))
    first, second = document["steps"][1], document["steps"][2]
    assert first["observation"]["results"] == [
        {"source_call_id": first["tool_calls"][0]["tool_call_id"], "content": "screen 1"}
    ]
    assert "source_call_id" not in second["observation"]["results"][0]
    assert [c["function_name"] for c in second["tool_calls"]] == ["bash_command", "bash_command", "mark_task_complete"]
    ids = [call["tool_call_id"] for step in document["steps"] for call in step.get("tool_calls", [])]
    assert len(set(ids)) == len(ids) == 4


def test_the_raw_text_is_kept_and_stands_alone_where_it_was_not_understood():
    understood, not_understood = to_atif(trial(turn(1), turn(2, error="bad")))["steps"][1:]
    assert understood["message"] == "Analysis: look\nPlan: go on" and understood["extra"] == {"raw": "raw 1"}
    assert not_understood["message"] == "raw 2" and not_understood["extra"]["parse_error"] == "bad"
    assert "tool_calls" not in not_understood


def test_totals_and_facts_of_our_own():
    document = to_atif(trial(turn(1), turn(2), reward=None))
    assert document["final_metrics"] == {
        "total_prompt_tokens": 20,
        "total_completion_tokens": 4,
        "total_cost_usd": 1.0,
        "total_steps": 3,
    }
    assert document["extra"]["reward"] is None and document["extra"]["recorded"] is True
    assert document["extra"]["stop"] == "completed"


def test_a_handover_is_a_step_of_its_own_and_its_calls_are_trajectories_beside():
    call = HelperCall(name="summary", prompt="p", raw="r", prompt_tokens=5, completion_tokens=1, cost_usd=0.5, at=AT)
    handover = Handover(context=1, turn=2, text="so far", calls=(call,))
    second = turn(2, "ls\n").model_copy(
        update={"context": 1, "warnings": ("w",), "logprobs": (-0.5,), "completion_token_ids": (7,)}
    )
    document = to_atif(trial(turn(1), second).model_copy(update={"handovers": (handover,)}))
    assert [(step["step_id"], step["source"]) for step in document["steps"]] == [
        (1, "user"), (2, "agent"), (3, "system"), (4, "agent"),
    ]  # fmt: skip
    (beside,) = document["subagent_trajectories"]
    (result,) = document["steps"][2]["observation"]["results"]
    assert result["subagent_trajectory_ref"] == [{"trajectory_id": beside["trajectory_id"]}]
    assert beside["steps"][1]["message"] == "r" and set(document["steps"][2]) <= STEP and set(beside) <= TOP
    assert document["final_metrics"]["total_prompt_tokens"] == 25 and document["final_metrics"]["total_steps"] == 4
    assert document["steps"][3]["metrics"]["logprobs"] == [-0.5]
    assert document["steps"][3]["extra"] == {"raw": "raw 2", "warnings": ["w"], "context": 1}


def test_a_trial_without_turns_is_still_a_document():
    document = to_atif(trial(reward=None))
    assert [step["source"] for step in document["steps"]] == ["user"]
