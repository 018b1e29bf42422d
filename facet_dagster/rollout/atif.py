"""A trial as an ATIF-v1.7 trajectory, with the conventions of Harbor's Terminus-2.

No key stands here that the format does not know. Facts of our own (stop reason, reward, the model's raw text) stand in
`extra`, where the format allows them.
"""

from datetime import datetime
from typing import Any

from facet_dagster.records.rollout import Trial, Turn

VERSION = "ATIF-v1.7"
AGENT_NAME = "facet-terminus"
AGENT_VERSION = "1.0.0"
SEND_KEYS, MARK_COMPLETE = "bash_command", "mark_task_complete"


def to_atif(trial: Trial) -> dict[str, Any]:
    """The trajectory document of a trial, ready for json.dump.

    A trial without a single turn still has the one step that the format demands.
    """
    identity = f"{trial.seed}-{trial.key}"
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
        "steps": [_opening(trial), *(_step(turn, trial.model) for turn in trial.turns)],
        "final_metrics": {
            "total_prompt_tokens": sum(turn.prompt_tokens for turn in trial.turns),
            "total_completion_tokens": sum(turn.completion_tokens for turn in trial.turns),
            "total_cost_usd": sum(turn.cost_usd for turn in trial.turns),
            "total_steps": len(trial.turns) + 1,
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
        },
    }


def _opening(trial: Trial) -> dict[str, Any]:
    message = trial.turns[0].prompt if trial.turns else f"No turn was taken on {trial.task}."
    return {"step_id": 1, "timestamp": _time(trial.started_at), "source": "user", "message": message}


def _step(turn: Turn, model: str) -> dict[str, Any]:
    failed = turn.parse_error is not None
    step: dict[str, Any] = {
        "step_id": turn.number + 1,
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
        },
        "extra": {"raw": turn.raw, **({"parse_error": turn.parse_error} if failed else {})},
    }
    calls = _calls(turn)
    if calls:
        step["tool_calls"] = calls
    return step


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
