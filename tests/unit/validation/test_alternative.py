"""G7: an independent solution is accepted, refused for a reason that is cited, or refused without one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from facet_dagster.authoring.alternative import SecondEngineer
from facet_dagster.environment.observe import difference
from facet_dagster.errors import InfrastructureError
from facet_dagster.prompts.ask import Asker
from facet_dagster.records.container import Limits
from facet_dagster.records.outcome import Reason
from facet_dagster.records.validation import Gate, ValidationReport
from facet_dagster.testing.scripted_model import ScriptedModel
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.validate import validate

FAILED = ("test_r1_total", "failed", "AssertionError: total is 2\nassert 2 == 3")
PASSED = ("test_r1_total", "passed", "")
SCRIPT = {"script": "#!/bin/bash\necho 3 > /app/total\n", "workflow": "add"}
EXPLAINED = {"explained": True, "requirement": "R1", "evidence": "write the total to /app/total", "advice": ""}
UNEXPLAINED = {"explained": False, "requirement": "", "evidence": "read_text() == '3'", "advice": "Accept a line end."}


@pytest.fixture
def run(candidate: Candidate, tools: dict[str, Any]) -> Callable[..., Any]:
    async def validated(
        answers: dict[str, list[Any]], *, grades: Any = (), solves: Any = ()
    ) -> tuple[ValidationReport, ScriptedModel]:
        sandbox, model = tools["sandbox"](grades=grades, solves=solves), ScriptedModel(answers)
        assert candidate.contract is not None
        second = SecondEngineer(
            Asker(model),
            sandbox,
            "s1",
            2,
            candidate.image,
            candidate.instruction,
            candidate.contract.requirements,
            Limits(),
        )
        report = await validate(
            replace(candidate),
            bundle="b" * 64,
            sandbox=sandbox,
            repeats=1,
            controls_max=0,
            observe=None,  # type: ignore[arg-type]
            difference=difference,
            second=second,
            gates=[Gate.ALTERNATIVE],
        )
        assert set(sandbox.images) == {"facet-env:1"}
        return report, model

    return validated


async def test_an_independent_solution_that_is_accepted(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, model = await run({"authoring.alternative": [SCRIPT]}, grades=[tools["graded"](1.0, PASSED)])
    assert report.verdict is True and report.alternative.script == SCRIPT["script"]
    (request,) = model.requests
    assert request.call.round == 2 and "solution reference" not in request.messages[0].content.lower()


async def test_a_refusal_that_a_requirement_explains(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    answers = {"authoring.alternative": [SCRIPT], "repair.explain": [EXPLAINED]}
    report, _ = await run(answers, grades=[tools["graded"](0.0, FAILED)])
    assert report.verdict is True and "as R1 demands" in report.gates[0].evidence


@pytest.mark.parametrize(
    "wrong",
    [
        {**EXPLAINED, "evidence": "this was made up"},
        {**EXPLAINED, "evidence": "total"},
        {**EXPLAINED, "requirement": "R9"},
    ],
)
async def test_an_explanation_must_cite_what_was_shown(
    run: Callable[..., Any], tools: dict[str, Any], wrong: dict[str, Any]
) -> None:
    answers = {"authoring.alternative": [SCRIPT], "repair.explain": [wrong, wrong]}
    report, _ = await run(answers, grades=[tools["graded"](0.0, FAILED)])
    assert (report.verdict, report.gates[0].reason) == (False, Reason.ALTERNATIVE_REFUSED)


async def test_a_refusal_without_explanation_is_for_the_diagnosis(
    run: Callable[..., Any], tools: dict[str, Any]
) -> None:
    answers = {"authoring.alternative": [SCRIPT], "repair.explain": [UNEXPLAINED]}
    report, _ = await run(answers, grades=[tools["graded"](0.0, FAILED)])
    gate = report.failed_gate()
    assert gate is not None and (gate.reason, gate.component) == (Reason.ALTERNATIVE_REFUSED, None)
    assert "Accept a line end." in gate.evidence and "total is 2" in gate.evidence


async def test_a_second_solution_that_does_not_run_says_nothing(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, _ = await run({"authoring.alternative": [SCRIPT]}, solves=[tools["result"](exit_code=2)])
    assert [s.gate for s in report.skipped] == [Gate.ALTERNATIVE] and "exit code 2" in report.skipped[0].why


async def test_no_solution_says_nothing(run: Callable[..., Any]) -> None:
    report, _ = await run({"authoring.alternative": [{"infeasible": "no rule for ties"}]})
    assert "no rule for ties" in report.skipped[0].why


async def test_trouble_of_the_engine_leaves_the_gate_open(run: Callable[..., Any]) -> None:
    report, _ = await run({"authoring.alternative": [SCRIPT]}, grades=[InfrastructureError("the engine is gone")])
    assert report.verdict is None and report.gates[0].passed is None
