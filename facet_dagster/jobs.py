"""A job folder of Harbor, made here or elsewhere, as trials: trajectory (ATIF), rewards, tokens, errors apart.

Only files are read; Harbor itself need not be installed. What a trial lacks (no trajectory, no reward) stays empty, and
its error is kept as trouble: an error is never a failure of the teacher.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from facet_dagster.errors import SettingsError
from facet_dagster.records.base import Record, digest_of
from facet_dagster.records.rollout import REBUILT, Handover, StopReason, Trial, Turn
from facet_dagster.records.validation import GradeReport
from facet_dagster.rollout.protocol import ParsedTurn
from facet_dagster.rollout.replies import PARSERS
from facet_dagster.validation.reading import read_ctrf, read_junit, read_results

OUTPUT = 20_000  # characters of the tests' output that are kept
# Errors after which the state was graded all the same: the agent came to an end of its own.
_ENDS = {"AgentTimeoutError": StopReason.TIME_LIMIT}


class TaskRef(Record):
    """Which of our tasks a trial was made on. With a `folder` (task_digest), trials on it alone."""

    seed: str
    task: str
    bundle: str
    folder: str | None = None


def task_digest(folder: Path) -> str:
    """Harbor's digest of a task folder of ours (`task.digest` in a trial's lock.json): paths and contents."""
    lines = []
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        if path.is_file():
            lines.append(f"{path.relative_to(folder).as_posix()}\0{digest_of(path.read_bytes())}\n")
    return f"sha256:{digest_of(''.join(lines))}"


def is_graded(folder: Path) -> bool:
    """Whether a job folder holds a finished trial, and all it holds are graded."""
    try:
        return all(trial.grade is not None for trial in import_job(folder, {}))
    except SettingsError:
        return False


def import_job(folder: Path, known: Mapping[str, TaskRef]) -> list[Trial]:
    """The finished trials of a job folder, in the order of their names; attempts are counted per task and model.

    `known` are our tasks by name (`org/name`); a trial on another task belongs to a seed called after the task, and
    its bundle is Harbor's checksum of the task, as it is on another state of a known one. Raises SettingsError where
    the folder is no job.
    """
    found = [_object(path, strict=True) | {"folder": path.parent} for path in sorted(folder.glob("*/result.json"))]
    results = [result for result in found if "trial_name" in result]
    if not results:
        raise SettingsError(f"{folder} holds no finished trial of Harbor: name a job folder (jobs/<name>)")
    trials: list[Trial] = []
    for result in results:
        trial = _trial(result, folder.name, known)
        attempt = sum((t.seed, t.bundle, t.model) == (trial.seed, trial.bundle, trial.model) for t in trials)
        trials.append(trial.model_copy(update={"attempt": attempt}))
    return trials


def _trial(result: Mapping[str, Any], job: str, known: Mapping[str, TaskRef]) -> Trial:
    name = str(result.get("task_name") or "task")
    checksum = str(result.get("task_checksum") or digest_of(name))
    ref = known.get(name) or TaskRef(seed=name.rpartition("/")[2], task=name, bundle=checksum)
    made_on = (_object(result["folder"] / "lock.json").get("task") or {}).get("digest")
    if ref.folder is not None and ref.folder != made_on:
        ref = ref.model_copy(update={"bundle": checksum})
    turns, handovers = _dialogue(result["folder"] / "agent")
    error = result.get("exception_info") or {}
    grade = _grade(result)
    stop = StopReason.INFRASTRUCTURE if grade is None else _ENDS.get(error.get("exception_type", ""), _stop(turns))
    started, seconds = _moments(result)
    trouble = f"{error.get('exception_type')}: {error.get('exception_message')}" if error else ""
    return Trial(
        seed=ref.seed,
        task=ref.task,
        bundle=ref.bundle,
        attempt=0,
        model=_model(result),
        recorded=False,
        stop=stop,
        reward=grade.reward if grade else None,
        grade=grade,
        turns=turns,
        handovers=handovers,
        seconds=seconds,
        started_at=started,
        run_id=job,
        engine="harbor",
        origin=f"{job}/{result['trial_name']}/{result.get('id', '')}",
        trouble=trouble[:2_000],
    )


def _stop(turns: Sequence[Turn]) -> StopReason:
    done = len(turns) > 1 and turns[-1].task_complete and turns[-2].task_complete
    return StopReason.COMPLETED if done else StopReason.TURN_LIMIT


def _model(result: Mapping[str, Any]) -> str:
    info = (result.get("agent_info") or {}).get("model_info") or {}
    return "/".join(part for part in (info.get("provider"), info.get("name")) if part) or "unknown"


def _moments(result: Mapping[str, Any]) -> tuple[datetime, float]:
    """When the trial began, and the seconds that the agent worked."""
    began = _moment(result.get("started_at")) or datetime.fromtimestamp(0, UTC)
    phase = result.get("agent_execution") or {}
    start, end = _moment(phase.get("started_at")), _moment(phase.get("finished_at"))
    return began, (end - start).total_seconds() if start and end else 0.0


def _moment(text: str | None) -> datetime | None:
    moment = datetime.fromisoformat(text) if text else None
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def _grade(result: Mapping[str, Any]) -> GradeReport | None:
    """What the tests said; None where Harbor has no reward, or says that it does not count."""
    rewards = (result.get("verifier_result") or {}).get("rewards") or {}
    values = list(rewards.values())
    reward = rewards.get("reward", values[0] if len(values) == 1 else None)
    if reward is None or result.get("reward_valid") is False:
        return None
    logs = result["folder"] / "verifier"
    own = read_results(_bytes(logs / "results.json"))
    tests = own.tests if own else read_junit(_bytes(logs / "junit.xml")) or read_ctrf(_bytes(logs / "ctrf.json"))
    output = (_bytes(logs / "test-stdout.txt") or b"").decode(errors="replace")
    return GradeReport(
        reward=float(reward),
        tests=tests or (),
        executed=sum(test.outcome in {"passed", "failed"} for test in tests or ()),
        seconds=0.0,
        output=output[-OUTPUT:],
        per_test=tests is not None,
    )


def _dialogue(folder: Path) -> tuple[tuple[Turn, ...], tuple[Handover, ...]]:
    """Turns and hand-overs of a trajectory and its continuations."""
    turns: list[Turn] = []
    handovers: list[Handover] = []
    prompt = ""
    for step in _steps(folder):
        message = _text(step.get("message"))
        if step.get("source") == "agent":
            turn = _turn(step, len(turns) + 1, prompt, len(handovers))
            turns.append(turn)
            prompt = turn.observation
        elif step.get("source") == "user" and turns:
            handovers.append(Handover(context=len(handovers) + 1, turn=len(turns) + 1, text=message, calls=()))
            prompt = message
        elif step.get("source") == "user":
            prompt = message
    return tuple(turns), tuple(handovers)


def _steps(folder: Path) -> Iterator[Mapping[str, Any]]:
    more = sorted(folder.glob("trajectory.cont-*.json"), key=lambda p: int("".join(filter(str.isdigit, p.stem)) or 0))
    for path in [folder / "trajectory.json", *more]:
        if path.is_file():
            yield from (step for step in _object(path).get("steps", []) if not step.get("is_copied_context"))


def _turn(step: Mapping[str, Any], number: int, prompt: str, context: int) -> Turn:
    raw, parsed, warnings = _said(step)
    results = (step.get("observation") or {}).get("results") or []
    metrics = step.get("metrics") or {}
    return Turn(
        number=number,
        prompt=prompt,
        raw=raw,
        analysis=parsed.analysis,
        plan=parsed.plan,
        commands=parsed.commands,
        task_complete=parsed.task_complete,
        parse_error=parsed.error,
        observation="\n".join(_text(result.get("content")) for result in results),
        prompt_tokens=metrics.get("prompt_tokens") or 0,
        completion_tokens=metrics.get("completion_tokens") or 0,
        cost_usd=metrics.get("cost_usd") or 0.0,
        at=_moment(step.get("timestamp")) or datetime.fromtimestamp(0, UTC),
        warnings=(*warnings, *parsed.warnings),
        context=context,
        prompt_token_ids=_tuple(metrics.get("prompt_token_ids")),
        completion_token_ids=_tuple(metrics.get("completion_token_ids")),
        logprobs=_tuple(metrics.get("logprobs")),
    )


def _said(step: Mapping[str, Any]) -> tuple[str, ParsedTurn, tuple[str, ...]]:
    """The reply as the model wrote it, or rebuilt as JSON from the calls that were read from it."""
    message, calls = _text(step.get("message")), step.get("tool_calls") or []
    raw = (step.get("extra") or {}).get("raw") or message
    if raw is message and (calls or message.startswith("Analysis:")):
        analysis, _, plan = message.removeprefix("Analysis:").partition("\nPlan:")
        commands = [call["arguments"] for call in calls if call.get("function_name") == "bash_command"]
        done = any(call.get("function_name") == "mark_task_complete" for call in calls)
        rebuilt = {"analysis": analysis.strip(), "plan": plan.strip(), "commands": commands, "task_complete": done}
        raw = json.dumps(rebuilt, ensure_ascii=False)
        return raw, PARSERS["json"](raw), (REBUILT,)
    return raw, PARSERS["xml" if "<response>" in raw else "json"](raw), ()


def _text(content: Any) -> str:
    if isinstance(content, list):  # content parts; pictures say nothing here
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _tuple(values: Any) -> tuple[Any, ...] | None:
    return tuple(values) if isinstance(values, list) else None


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _object(path: Path, *, strict: bool = False) -> dict[str, Any]:
    try:
        value = json.loads(_bytes(path) or b"{}")
    except ValueError as error:
        if strict:
            raise SettingsError(f"{path} is no result of Harbor: {error}") from error
        return {}  # the agent was stopped while it wrote
    return value if isinstance(value, dict) else {}
