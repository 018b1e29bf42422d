"""The routing table: symptom -> component to rewrite. docs/diagnosis.md shows it; a model decides the open rows.

Only what can be told without judgement belongs here. The first rule that applies decides.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from facet_dagster.records.bundle import ComponentVersion, Origin
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.validation import TestResult, ValidationReport

# `FileNotFoundError: …`, `json.decoder.JSONDecodeError: …`, but neither `assert 1 == 2` nor `AssertionError: …`.
_RAISED = re.compile(r"^(?!(?:[\w.]*\.)?(?:AssertionError|Failed)\b)[A-Za-z_][\w.]*(?::|$)")


@dataclass(frozen=True)
class Case:
    """A failure, reduced to what the table asks. `component` is who the failure itself names, if anybody."""

    reason: Reason
    component: Component | None
    evidence: str
    failing: tuple[TestResult, ...] = ()
    same_outputs: bool = True  # every run of the solution printed the same
    repeated: bool = False  # the same reason again, though the component it names was just rewritten for it

    @property
    def tests_broke(self) -> bool:
        """Every test that did not pass raised something other than a failed assertion."""
        return bool(self.failing) and all(t.outcome == "error" or _RAISED.match(t.message) for t in self.failing)


@dataclass(frozen=True)
class Rule:
    """One row. `component` is None where a model must decide, and "named" where the failure names it."""

    symptom: str
    component: Component | Literal["named"] | None
    applies: Callable[[Case], bool]


_BUILDING = {Reason.BUILD_FAILED, Reason.BUILD_LIMIT, Reason.PROBE_FAILED}
_SOLVING = {Reason.SOLUTION_FAILED, Reason.SOLUTION_LIMIT, Reason.SOLUTION_CHANGES_NOTHING}
_TESTING = {Reason.NOOP_PASSED, Reason.NOTHING_EXECUTED, Reason.VERIFIER_LIMIT}
_NOT_WRITTEN = {Reason.ANSWER_UNUSABLE, Reason.REQUIREMENT_LOST, Reason.IDENTICAL_PATCH, Reason.TEST_WEAKENED}

RULES: tuple[Rule, ...] = (
    Rule(
        "the same rejection again, although the solution or verifier was just rewritten for it",
        None,
        lambda case: case.repeated,
    ),
    Rule(
        "the image does not build, hits a limit, or a probe of an expected property fails",
        Component.ENVIRONMENT,
        lambda case: case.reason in _BUILDING,
    ),
    Rule(
        "the scenario contradicts itself, or the author of the environment says that it cannot be built",
        Component.SCENARIO,
        lambda case: (
            case.reason is Reason.INCONSISTENT
            or (case.reason is Reason.INFEASIBLE and case.component in {Component.SCENARIO, Component.ENVIRONMENT})
        ),
    ),
    Rule(
        "the author of the instruction, solution or verifier says that it cannot be done",
        None,
        lambda case: case.reason is Reason.INFEASIBLE,
    ),
    Rule(
        "solve.sh exits with an error, hits a limit, or changes nothing",
        Component.SOLUTION,
        lambda case: case.reason in _SOLVING,
    ),
    Rule(
        "the tests pass on the initial state, cannot be collected, execute nothing, or hit a limit",
        Component.VERIFIER,
        lambda case: case.reason in _TESTING,
    ),
    Rule(
        "reading finds a fault in the Dockerfile or its context, in the instruction, or in the tests",
        "named",
        lambda case: case.reason is Reason.STATIC_FAULT,
    ),
    Rule(
        "a spoilt output gets the reward (negative control)",
        Component.VERIFIER,
        lambda case: case.reason is Reason.CONTROL_SURVIVED,
    ),
    Rule(
        "a cheat gets the reward, or keeps the tests from a verdict",
        Component.VERIFIER,
        lambda case: case.reason is Reason.TAMPERED,
    ),
    Rule(
        "an independent solution is refused, and no requirement explains it",
        None,
        lambda case: case.reason is Reason.ALTERNATIVE_REFUSED,
    ),
    Rule(
        "a requirement is not stated in the instruction's words, or has no test, or a test names none; "
        "or a test demands a name that nobody tells",
        "named",
        lambda case: case.reason in {Reason.CONTRACT_BROKEN, Reason.HIDDEN_NAME},
    ),
    Rule(
        "repeated runs disagree although the solution printed the same each time",
        Component.VERIFIER,
        lambda case: case.reason is Reason.UNSTABLE and case.same_outputs,
    ),
    Rule(
        "repeated runs disagree and the solution printed different things",
        Component.SOLUTION,
        lambda case: case.reason is Reason.UNSTABLE,
    ),
    Rule(
        "after the solution every failing test breaks with an exception other than a failed assertion",
        Component.VERIFIER,
        lambda case: case.reason is Reason.ORACLE_FAILED and case.tests_broke,
    ),
    Rule(
        "after the solution an assertion fails",
        None,
        lambda case: case.reason is Reason.ORACLE_FAILED,
    ),
    Rule(
        "a version could not be used: answer unreadable, patch identical, requirement lost, test weakened",
        "named",
        lambda case: case.reason in _NOT_WRITTEN,
    ),
)


def case_of(failure: ValidationReport | Rejected, history: Sequence[ComponentVersion]) -> Case:
    """What the table asks of a failure. Raises ValueError for a report without a failed gate."""
    if isinstance(failure, Rejected):
        repeated = _repeated(failure.component, failure.reason, history)
        # A solution that failed when it was run again is no fault of tests that are not even written.
        same = failure.component is not Component.SOLUTION
        return Case(failure.reason, failure.component, failure.evidence, same_outputs=same, repeated=repeated)
    gate = failure.failed_gate()
    if gate is None or gate.reason is None:
        raise ValueError("there is nothing to diagnose: no gate failed with a reason")
    runs = failure.oracle_runs or failure.noop_runs
    failing = tuple(t for t in runs[-1].tests if t.outcome != "passed") if runs else ()
    return Case(
        gate.reason,
        gate.component,
        gate.evidence,
        failing=failing,
        same_outputs=len(set(failure.oracle_outputs)) <= 1,
        repeated=gate.component is not None and _repeated(gate.component, gate.reason, history),
    )


def _repeated(component: Component, reason: Reason, history: Sequence[ComponentVersion]) -> bool:
    """Whether the newest usable repair rewrote this component for this reason."""
    if component not in {Component.SOLUTION, Component.VERIFIER}:
        return False
    repairs = [v for v in history if v.origin is Origin.REPAIRED and not isinstance(v.body, Rejected)]
    last = repairs[-1].diagnosis if repairs else None
    return last is not None and last.component is component and last.reason is reason


def decide(case: Case) -> Component | None:
    """The component by the first rule that applies; None where a model must decide."""
    rule = next((rule for rule in RULES if rule.applies(case)), None)
    if rule is None or rule.component is None:
        return None
    return rule.component if isinstance(rule.component, Component) else case.component
