"""A trial as an ATIF-v1.7 trajectory, with the conventions of Harbor's Terminus-2.

No key stands here that the format does not know. Facts of our own (stop reason, reward, the model's raw text) stand in
`extra`, where the format allows them.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from facet_dagster.records.rollout import Handover, HelperCall, Trial, Turn

VERSION = "ATIF-v1.7"
AGENT_NAME = "facet-terminus"
AGENT_VERSION = "1.0.0"
SEND_KEYS, MARK_COMPLETE = "bash_command", "mark_task_complete"


def to_atif(trial: Trial) -> dict[str, Any]:
    """The trajectory document of a trial, ready for json.dump.

    A trial without a single turn still has the one step that the format demands.
    """
    identity = f"{trial.seed}-{trial.key}"
    steps = [_opening(trial), *_steps(trial, identity)]
    return {
        "schema_version": VERSION,
        "session_id": f"{trial.run_id}-{identity}",
        "trajectory_id": identity,
        "agent": {
            "name": AGENT_NAME,
            "version": AGENT_VERSION,
            "model_name": trial.model,
            "tool_definitions": _tools(),
        },
        "steps": steps,
        **_helpers(trial, identity),
        "final_metrics": {
            "total_prompt_tokens": sum(call.prompt_tokens for call in trial.calls),
            "total_completion_tokens": sum(call.completion_tokens for call in trial.calls),
            "total_cost_usd": trial.cost_usd,
            "total_steps": len(steps),
        },
        "extra": {
            "task": trial.task,
            "seed": trial.seed,
            "bundle": trial.bundle,
            "attempt": trial.attempt,
            "reward": trial.reward,
            "stop": trial.stop.value,
            "recorded": trial.recorded,
            "seconds": trial.seconds,
            "engine": trial.engine,
            **({"trouble": trial.trouble} if trial.trouble else {}),
            **({"tests": _tests(trial)} if trial.grade and trial.grade.tests else {}),
        },
    }


def _opening(trial: Trial) -> dict[str, Any]:
    message = trial.turns[0].prompt if trial.turns else f"No turn was taken on {trial.task}."
    return {"step_id": 1, "timestamp": _time(trial.started_at), "source": "user", "message": message}


def _steps(trial: Trial, identity: str) -> Iterator[dict[str, Any]]:
    """The turns in order; where the dialogue was handed over, a step says so and names the helper calls."""
    handovers = {handover.turn: handover for handover in trial.handovers}
    number = 2
    for turn in trial.turns:
        if handover := handovers.get(turn.number):
            yield _handed_over(handover, identity, number, turn.at)
            number += 1
        yield {**_step(turn, trial.model), "step_id": number}
        number += 1


def _handed_over(handover: Handover, identity: str, number: int, at: datetime) -> dict[str, Any]:
    refs = [{"trajectory_id": _helper_id(identity, handover, call)} for call in handover.calls]
    told = {"content": "the helper calls", "subagent_trajectory_ref": refs}
    return {
        "step_id": number,
        "timestamp": _time(at),
        "source": "system",
        "message": handover.text,
        **({"observation": {"results": [told]}} if refs else {}),
        "extra": {"context": handover.context, "not_to_be_trained_on": True},
    }


def _helpers(trial: Trial, identity: str) -> dict[str, Any]:
    """Each helper call as a trajectory of its own."""
    made = [_helper(trial, identity, handover, call) for handover in trial.handovers for call in handover.calls]
    return {"subagent_trajectories": made} if made else {}


def _helper(trial: Trial, identity: str, handover: Handover, call: HelperCall) -> dict[str, Any]:
    answer = {
        "step_id": 2,
        "timestamp": _time(call.at),
        "source": "agent",
        "model_name": trial.model,
        "message": call.raw,
        "llm_call_count": 1,
        "metrics": {
            "prompt_tokens": call.prompt_tokens,
            "completion_tokens": call.completion_tokens,
            "cost_usd": call.cost_usd,
        },
    }
    return {
        "schema_version": VERSION,
        "trajectory_id": _helper_id(identity, handover, call),
        "agent": {"name": f"{AGENT_NAME}-{call.name}", "version": AGENT_VERSION, "model_name": trial.model},
        "steps": [{"step_id": 1, "timestamp": _time(call.at), "source": "user", "message": call.prompt}, answer],
    }


def _helper_id(identity: str, handover: Handover, call: HelperCall) -> str:
    return f"{identity}-handover-{handover.context}-{call.name}"


def _tests(trial: Trial) -> dict[str, str]:
    return {test.name: test.outcome for test in trial.grade.tests} if trial.grade else {}


def _step(turn: Turn, model: str) -> dict[str, Any]:
    failed = turn.parse_error is not None
    step: dict[str, Any] = {
        "timestamp": _time(turn.at),
        "source": "agent",
        "model_name": model,
        "message": turn.raw if failed else f"Analysis: {turn.analysis}\nPlan: {turn.plan}",
        "llm_call_count": 1,
        "observation": {"results": [_result(turn)]},
        "metrics": {
            "prompt_tokens": turn.prompt_tokens,
            "completion_tokens": turn.completion_tokens,
            "cost_usd": turn.cost_usd,
            **_token_details(turn),
        },
        "extra": {"raw": turn.raw, **_remarks(turn)},
    }
    calls = _calls(turn)
    if calls:
        step["tool_calls"] = calls
    return step


def _token_details(turn: Turn) -> dict[str, list[Any]]:
    names = ("prompt_token_ids", "completion_token_ids", "logprobs")
    return {name: list(values) for name in names if (values := getattr(turn, name)) is not None}


def _remarks(turn: Turn) -> dict[str, Any]:
    """What is out of the ordinary about a turn."""
    return {
        **({"parse_error": turn.parse_error} if turn.parse_error is not None else {}),
        **({"warnings": list(turn.warnings)} if turn.warnings else {}),
        **({"finish_reason": turn.finish_reason} if turn.finish_reason != "stop" else {}),
        **({"context": turn.context} if turn.context else {}),
    }


def _calls(turn: Turn) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = [
        {
            "tool_call_id": _call_id(turn, position),
            "function_name": SEND_KEYS,
            "arguments": {"keystrokes": command.keystrokes, "duration": command.duration},
        }
        for position, command in enumerate(turn.commands, start=1)
    ]
    if turn.task_complete:
        calls.append({"tool_call_id": _call_id(turn, "task_complete"), "function_name": MARK_COMPLETE, "arguments": {}})
    return calls


def _result(turn: Turn) -> dict[str, Any]:
    """One text answers the whole batch; it is tied to a call only where there is a single command."""
    tied = {"source_call_id": _call_id(turn, 1)} if len(turn.commands) == 1 else {}
    return {**tied, "content": turn.observation}


def _call_id(turn: Turn, suffix: int | str) -> str:
    return f"call_{turn.number}_{suffix}"


def _time(moment: datetime) -> str:
    return moment.isoformat()


def _tools() -> list[dict[str, Any]]:
    properties = {"keystrokes": {"type": "string"}, "duration": {"type": "number"}}
    return [
        _tool(SEND_KEYS, "Type keys into the terminal, then wait for some seconds", properties, ["keystrokes"]),
        _tool(MARK_COMPLETE, "Say that the task is done; counts when it is said twice in a row", {}, []),
    ]


def _tool(name: str, description: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
