"""Asking: the dialogue with its looks and its one corrective turn, and what becomes of answers that do not fit."""

import json
from typing import Any

import pytest

from facet_dagster.errors import ModelUnavailable
from facet_dagster.prompts import ask as asking
from facet_dagster.prompts.ask import Asker, Question
from facet_dagster.prompts.rendering import Rendered
from facet_dagster.prompts.rendering import render as render_file
from facet_dagster.records.base import Record
from facet_dagster.records.call import CallId, Role
from facet_dagster.records.container import CommandResult
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.testing.scripted_model import ScriptedModel


class Plan(Record):
    title: str
    steps: list[str]


GOOD = {"title": "t", "steps": ["a"]}


@pytest.fixture(autouse=True)
def small_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """`test/plan` stands for a prompt file; all others are read as they are."""

    def render(name: str, variables: dict[str, Any]) -> Rendered:
        return Rendered("Make a plan.\n", "hash-of-plan") if name == "test/plan" else render_file(name, variables)

    monkeypatch.setattr(asking, "render", render)


def question(**changes: Any) -> Question[Plan]:
    values: dict[str, Any] = {
        "prompt": "test/plan",
        "variables": {},
        "answer": Plan,
        "call": CallId(station="test.plan", subject="seed-1", round=2, attempt=1),
        "component": Component.SOLUTION,
        "role": Role.JUDGE,
    }
    return Question(**{**values, **changes})


def scripted(*answers: str | dict[str, Any] | BaseException) -> ScriptedModel:
    return ScriptedModel({"test.plan": answers})


async def ask(model: ScriptedModel, **changes: Any) -> Plan | Rejected:
    return await Asker(model).ask(question(**changes))


async def test_an_answer_that_fits_takes_one_call() -> None:
    model = scripted(GOOD)
    assert await ask(model) == Plan(title="t", steps=["a"])
    (request,) = model.requests
    assert request.call == CallId(station="test.plan", subject="seed-1", round=2, attempt=1, turn=0)
    assert request.role is Role.JUDGE
    assert request.messages[0].content.startswith("Make a plan.")


async def test_a_changed_contract_is_a_changed_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = scripted(GOOD), scripted(GOOD)
    await ask(before)
    known = asking.render
    monkeypatch.setattr(
        asking,
        "render",
        lambda name, variables: (
            Rendered("Answer in verse.\n", "verse") if name == "shared/contract" else known(name, variables)
        ),
    )
    await ask(after)
    assert before.requests[0].prompt_hash != after.requests[0].prompt_hash


async def test_the_schema_is_told_and_sent_without_bookkeeping() -> None:
    model = scripted(GOOD)
    await ask(model)
    schema = model.requests[0].answer_schema
    assert schema is not None
    assert set(schema["properties"]) == {"title", "steps"}, "a field may be called title"
    assert json.dumps(schema, ensure_ascii=False) in model.requests[0].messages[0].content


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("", "the answer is empty"),
        ("Sorry, no.", "no JSON object"),
        (json.dumps(GOOD)[:-2], "cut off"),
        ({"title": "t"}, "steps: Field required"),
        ({**GOOD, "surprise": 1}, "surprise: Extra inputs"),
    ],
)
async def test_what_does_not_fit_is_corrected_once(bad: str | dict[str, Any], told: str) -> None:
    model = scripted(bad, GOOD)
    assert await ask(model) == Plan(title="t", steps=["a"])
    first, second = model.requests
    assert [m.role for m in second.messages] == ["user", "assistant", "user"]
    assert second.messages[0] == first.messages[0]
    assert told in second.messages[2].content
    assert not second.messages[2].observed
    assert second.call.turn == 1


async def test_a_second_misfit_is_a_rejection_and_not_an_exception() -> None:
    model = scripted({"title": "t"}, {"steps": []}, GOOD)
    rejected = await ask(model)
    assert isinstance(rejected, Rejected)
    assert (rejected.component, rejected.reason) == (Component.SOLUTION, Reason.ANSWER_UNUSABLE)
    assert rejected.evidence == "test.plan: title: Field required"
    assert len(model.requests) == 2


async def test_prose_around_the_answer_needs_no_correction() -> None:
    model = scripted(f"Sure!\n```json\n{json.dumps(GOOD)}\n```\nAnything else?")
    assert await ask(model) == Plan(title="t", steps=["a"])
    assert len(model.requests) == 1


async def test_the_check_is_answered_like_a_misfit() -> None:
    def check(plan: Plan) -> list[str]:
        return [] if len(plan.steps) > 1 else ["one step is not a plan"]

    model = scripted(GOOD, {"title": "t", "steps": ["a", "b"]})
    assert await ask(model, check=check) == Plan(title="t", steps=["a", "b"])
    assert "one step is not a plan" in model.requests[1].messages[-1].content


async def test_trouble_of_the_model_is_passed_on() -> None:
    with pytest.raises(ModelUnavailable):
        await ask(scripted(ModelUnavailable("down")))


class Shell:
    """Answers every command with its own text."""

    def __init__(self, result: CommandResult | None = None) -> None:
        self.commands: list[str] = []
        self._result = result

    async def __call__(self, command: str) -> CommandResult:
        self.commands.append(command)
        return self._result or CommandResult(exit_code=0, output=f"output of {command}", seconds=0.0)


async def test_looks_are_run_shown_and_marked_as_observed() -> None:
    model, shell = scripted({"look": ["ls /app", "id"]}, GOOD), Shell()
    assert await ask(model, look=shell) == Plan(title="t", steps=["a"])
    assert shell.commands == ["ls /app", "id"]
    shown = model.requests[1].messages[2]
    assert shown.observed
    assert "$ ls /app\n[exit 0]\n<output>\noutput of ls /app\n</output>" in shown.content
    assert "You may look 1 more time(s)." in shown.content
    assert model.requests[0].answer_schema is None


async def test_when_the_looks_are_used_up_another_one_is_a_misfit() -> None:
    look = {"look": ["ls"]}
    model, shell = scripted(look, look, look, GOOD), Shell()
    assert await ask(model, look=shell, looks=2) == Plan(title="t", steps=["a"])
    assert len(shell.commands) == 2
    assert model.requests[2].messages[-1].content.endswith("Answer now.")
    assert [request.call.turn for request in model.requests] == [0, 1, 2, 3]


async def test_a_look_still_leaves_the_corrective_turn() -> None:
    model = scripted({"title": "t"}, {"look": ["ls"]}, GOOD)
    assert await ask(model, look=Shell()) == Plan(title="t", steps=["a"])


@pytest.mark.parametrize("commands", [[], "ls", [1], None, {"a": "b"}])
async def test_a_look_that_is_no_list_of_commands_is_corrected(commands: object) -> None:
    model, shell = scripted({"look": commands}, GOOD), Shell()
    assert await ask(model, look=shell) == Plan(title="t", steps=["a"])
    assert shell.commands == []
    assert "list of shell commands" in model.requests[1].messages[-1].content


async def test_commands_of_a_look_and_what_they_print_are_bounded() -> None:
    flood = CommandResult(exit_code=-1, output="x" * 100_000, seconds=20.0, limit="time")
    model, shell = scripted({"look": ["yes"] * 50}, GOOD), Shell(flood)
    await ask(model, look=shell)
    assert len(shell.commands) == 1
    shown = model.requests[1].messages[-1].content
    assert "[cut short: time]" in shown and "[not run: " in shown
    assert shown.count("$ yes") == asking.COMMANDS_PER_LOOK
    assert len(shown) < asking.LOOK_TOTAL + asking.COMMANDS_PER_LOOK * 200


async def test_short_outputs_leave_room_for_every_command() -> None:
    model, shell = scripted({"look": ["ls"] * 50}, GOOD), Shell(CommandResult(exit_code=0, output="a", seconds=0.1))
    await ask(model, look=shell)
    assert len(shell.commands) == asking.COMMANDS_PER_LOOK


async def test_a_look_without_a_container_is_a_misfit() -> None:
    model = scripted({"look": ["ls"]}, GOOD)
    assert await ask(model) == Plan(title="t", steps=["a"])
    assert "look: Extra inputs" in model.requests[1].messages[-1].content


async def test_infeasible_is_a_rejection_where_it_is_allowed() -> None:
    rejected = await ask(scripted({"infeasible": "there is no such tool"}), may_refuse=True)
    assert isinstance(rejected, Rejected)
    assert (rejected.reason, rejected.evidence) == (Reason.INFEASIBLE, "there is no such tool")


async def test_infeasible_where_it_is_not_allowed_is_corrected() -> None:
    model = scripted({"infeasible": "too hard"}, GOOD)
    assert await ask(model) == Plan(title="t", steps=["a"])
    assert "infeasible" not in model.requests[0].messages[0].content


async def test_evidence_is_bounded() -> None:
    rejected = await ask(scripted({"infeasible": "x" * 50_000}), may_refuse=True)
    assert isinstance(rejected, Rejected)
    assert len(rejected.evidence) == 4_000
