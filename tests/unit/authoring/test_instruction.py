"""An instruction is accepted only with a literal clause for every requirement."""

from typing import Any

import pytest

from facet_dagster.authoring.instruction import instruction_problems, write_instruction
from facet_dagster.prompts.ask import Asker
from facet_dagster.records.authoring import Instruction
from facet_dagster.records.container import Command, CommandResult, Limits
from facet_dagster.records.environment import Environment
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.validation import Diagnosis, Feedback
from facet_dagster.testing.sandbox import FakeContainer, FakeSandbox
from facet_dagster.testing.scripted_model import ScriptedModel

IDS = ("R1", "R2")


def printing(_: FakeContainer, command: Command) -> CommandResult:
    return CommandResult(exit_code=0, output=f"output of {command.script}", seconds=0.0)


@pytest.fixture
def sandbox() -> FakeSandbox:
    return FakeSandbox(printing, {"facet-env:1": {}})


async def write(
    model: ScriptedModel, sandbox: FakeSandbox, scenario: Scenario, environment: Environment, **more: Any
) -> Instruction | Rejected:
    return await write_instruction(
        "orders", scenario, environment, asker=Asker(model), sandbox=sandbox, limits=Limits(), **more
    )


def test_clauses_are_quotes_up_to_white_space(instruction: Instruction) -> None:
    assert instruction_problems(instruction, IDS) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"clauses": {"R1": "into /app/merged.csv"}}, "clauses: R2 is missing"),
        ({"clauses": {"R1": "Sort by id", "R2": "Sort by id", "R3": "Sort by id"}}, "clauses: R3 is not a requirement"),
        ({"clauses": {"R1": "Sort by id", "R2": "sorted by id"}}, "the words given for R2 do not stand in the text"),
        ({"clauses": {"R1": "Sort by id", "R2": " "}}, "the words given for R2 do not stand in the text"),
        ({"text": "Merge."}, "the text has 1 words"),
    ],
)
def test_what_does_not_state_the_requirements_is_refused(
    instruction: Instruction, change: dict[str, Any], problem: str
) -> None:
    assert any(problem in p for p in instruction_problems(instruction.model_copy(update=change), IDS))


def test_too_long_and_citing_ids(instruction: Instruction) -> None:
    longer = instruction.model_copy(update={"text": f"{instruction.text} (R1) {'word ' * 600}"})
    long, cites = instruction_problems(longer, IDS)
    assert "at most 600" in long and "cites requirement ids" in cites
    router = instruction.model_copy(update={"text": f"{instruction.text} The router R1 stays."})
    assert instruction_problems(router, IDS) == []


async def test_the_author_looks_and_answers(
    sandbox: FakeSandbox, scenario: Scenario, environment: Environment, instruction: Instruction
) -> None:
    answer = {"text": instruction.text, "clauses": instruction.clauses}
    model = ScriptedModel({"authoring.instruction": [{"look": ["head /app/in/a.csv"]}, answer]})
    assert await write(model, sandbox, scenario, environment) == instruction
    assert "output of head /app/in/a.csv" in model.requests[1].messages[-1].content
    assert model.requests[1].messages[-1].observed
    container = sandbox.opened[0]
    assert (container.spec.network, container.commands[-1].user) == (False, "agent")
    assert sandbox.running == []


async def test_a_missing_clause_gets_one_correction_and_then_a_rejection(
    sandbox: FakeSandbox, scenario: Scenario, environment: Environment, instruction: Instruction
) -> None:
    answer = {"text": instruction.text, "clauses": {"R1": "Sort by id"}}
    model = ScriptedModel({"authoring.instruction": [answer, answer]})
    rejected = await write(model, sandbox, scenario, environment)
    assert isinstance(rejected, Rejected)
    assert (rejected.component, rejected.reason) == (Component.INSTRUCTION, Reason.ANSWER_UNUSABLE)
    assert "R2 is missing" in model.requests[1].messages[-1].content


async def test_a_repair_sees_the_diagnosis_and_the_previous_version(
    sandbox: FakeSandbox, scenario: Scenario, environment: Environment, instruction: Instruction
) -> None:
    diagnosis = Diagnosis(
        component=Component.INSTRUCTION, reason=Reason.ORACLE_FAILED, evidence="delimiter is open", decided_by="model"
    )
    feedback = Feedback(diagnosis=diagnosis, previous='{"text": "the old words"}')
    model = ScriptedModel({"authoring.instruction": [{"text": instruction.text, "clauses": instruction.clauses}]})
    assert await write(model, sandbox, scenario, environment, round=3, feedback=feedback) == instruction
    prompt = model.requests[0].messages[0].content
    assert "delimiter is open" in prompt and "the old words" in prompt
    assert model.requests[0].call.round == 3
