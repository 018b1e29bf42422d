"""Components of a task bundle, and the rejection: bad news as a value, with a closed set of reasons."""

from enum import StrEnum
from typing import Literal

from facet_dagster.records.base import Record


class Component(StrEnum):
    """The parts of a task bundle in the order in which they are made (architecture: asset graph)."""

    SCENARIO = "scenario"
    ENVIRONMENT = "environment"
    INSTRUCTION = "instruction"
    SOLUTION = "solution"
    VERIFIER = "verifier"
    VALIDATION = "validation"
    TASK = "task"


class Reason(StrEnum):
    """Why a component was rejected. Closed: yields are counted over it."""

    ANSWER_UNUSABLE = "answer_unusable"  # the model's answer did not fit, nor did its correction
    INFEASIBLE = "infeasible"  # the author says that it cannot be done, and why
    INCONSISTENT = "inconsistent"  # the scenario contradicts itself after its revision
    BUILD_FAILED = "build_failed"
    BUILD_LIMIT = "build_limit"  # time, memory, processes or disk ran out while building
    PROBE_FAILED = "probe_failed"  # it builds, but an expected property does not hold
    SOLUTION_FAILED = "solution_failed"
    SOLUTION_LIMIT = "solution_limit"  # time, memory, processes or disk ran out while solving
    SOLUTION_CHANGES_NOTHING = "solution_changes_nothing"
    NOOP_PASSED = "noop_passed"  # the verifier is content with the initial state
    NOTHING_EXECUTED = "nothing_executed"  # collection error or no test executed: not a verdict
    VERIFIER_LIMIT = "verifier_limit"
    ORACLE_FAILED = "oracle_failed"
    UNSTABLE = "unstable"  # repeated runs disagree
    STATIC_FAULT = "static_fault"  # something that can be told by reading the task
    CONTROL_SURVIVED = "control_survived"  # the tests are content with a spoilt final state
    ALTERNATIVE_REFUSED = "alternative_refused"  # an independent solution fails and no requirement says why
    TAMPERED = "tampered"  # a cheat got the reward, or kept the tests from a verdict
    CONTRACT_BROKEN = "contract_broken"  # requirements, clauses and tests do not match
    HIDDEN_NAME = "hidden_name"  # tests demand a name that neither instruction nor environment tells
    REQUIREMENT_LOST = "requirement_lost"
    IDENTICAL_PATCH = "identical_patch"
    TEST_WEAKENED = "test_weakened"
    REPAIRS_EXHAUSTED = "repairs_exhausted"


class Rejected(Record):
    """A component that could not be made: which, why, and what shows it (a few readable lines)."""

    kind: Literal["rejected"] = "rejected"
    component: Component
    reason: Reason
    evidence: str
