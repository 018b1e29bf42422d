"""What a repair may not do: change nothing, drop a requirement, check less without a cited contradiction.

Whether the repair works is found out by validation, not here.
"""

import ast

from facet_dagster.records.authoring import Instruction, Solution, Verifier
from facet_dagster.records.base import Record
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.validation import Diagnosis
from facet_dagster.repair.feedback import as_answered


def refuse(before: Record, after: Record, diagnosis: Diagnosis) -> Rejected | None:
    """The rejection of a patch, or None where it may be tried. `before` and `after` are one component's bodies."""
    component = diagnosis.component
    if _same(before, after):
        evidence = "the rewritten version is the same as the one before it"
        return Rejected(component=component, reason=Reason.IDENTICAL_PATCH, evidence=evidence)
    lost = sorted(requirements_of(before) - requirements_of(after))
    if lost:
        evidence = f"requirements stated or tested before and no longer: {', '.join(lost)}"
        return Rejected(component=component, reason=Reason.REQUIREMENT_LOST, evidence=evidence)
    if isinstance(before, Verifier) and isinstance(after, Verifier) and not _contradiction_cited(diagnosis):
        weaker = _weaker(before, after)
        if weaker is not None:
            return Rejected(component=component, reason=Reason.TEST_WEAKENED, evidence=weaker)
    return None


def requirements_of(body: Record) -> frozenset[str]:
    """Ids of the requirements that a component states (scenario, instruction) or tests (verifier)."""
    if isinstance(body, Scenario):
        return frozenset(body.requirement_ids())
    if isinstance(body, Instruction):
        return frozenset(id for id, clause in body.clauses.items() if clause.strip())
    if isinstance(body, Verifier):
        return frozenset(id for ids in body.requirement_table().values() for id in ids)
    return frozenset()


def strength(test_file: str) -> tuple[int, int]:
    """Number of test functions and of checks (assert statements, pytest.raises and pytest.fail)."""
    try:
        nodes = list(ast.walk(ast.parse(test_file)))
    except (SyntaxError, ValueError):
        return 0, 0
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    tests = sum(isinstance(node, functions) and node.name.startswith("test_") for node in nodes)
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    checks = sum(isinstance(node, ast.Assert) for node in nodes)
    checks += sum(isinstance(call, ast.Attribute) and call.attr in {"raises", "fail"} for call in calls)
    return tests, checks


def _same(before: Record, after: Record) -> bool:
    """Equal in what has an effect: white space at line ends and what is said about a program do not count."""
    return type(before) is type(after) and _effective(before) == _effective(after)


def _effective(body: Record) -> list[str]:
    if isinstance(body, Solution):
        text = body.script
    elif isinstance(body, Verifier):
        text = body.test_file
    else:
        text = as_answered(body)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _contradiction_cited(diagnosis: Diagnosis) -> bool:
    """Whether somebody judged that the test itself is wrong, and quoted what shows it."""
    judged = diagnosis.decided_by in {"model", "person"}
    return judged and diagnosis.component is Component.VERIFIER and bool(diagnosis.evidence.strip())


def _weaker(before: Verifier, after: Verifier) -> str | None:
    (tests, checks), (tests_after, checks_after) = strength(before.test_file), strength(after.test_file)
    if tests_after >= tests and checks_after >= checks:
        return None
    counted = f"{tests} tests with {checks} checks before, {tests_after} with {checks_after} after"
    return f"the rewritten verifier checks less, and no contradiction was cited that would allow it: {counted}"
