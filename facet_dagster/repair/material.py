"""What the model that diagnoses is shown of a bundle: sections of text, cut to bounds, in a fixed order.

Evidence must be quoted from here, so what is cut is cut before it is shown. No judgement belongs here.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from facet_dagster.prompts.views import show_diff, show_requirements, show_state
from facet_dagster.records.authoring import Instruction, Solution, Verifier
from facet_dagster.records.base import Record
from facet_dagster.records.environment import Environment
from facet_dagster.records.outcome import Component
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.validation import TestResult

STATE = 8_000
DIFF = 8_000
SCRIPT = 12_000
OUTPUT = 3_000
TESTS = 16_000


@dataclass(frozen=True)
class Section:
    """One titled text; `tag` frames it in the prompt."""

    title: str
    tag: str
    text: str


def sections(bodies: Mapping[Component, Record], failing: Sequence[TestResult]) -> list[Section]:
    """What there is of the bundle so far; parts that were not made yet are left out."""
    shown: list[Section] = []
    for component in Component:
        body = bodies.get(component)
        if isinstance(body, Scenario):
            shown.append(Section("Requirements", "requirements", show_requirements(body.requirements)))
        elif isinstance(body, Environment):
            shown.append(Section("Initial state e0, as observed", "initial_state", show_state(body.e0, STATE)))
        elif isinstance(body, Instruction):
            shown.append(Section("Instruction", "instruction", body.text))
        elif isinstance(body, Solution):
            run = body.execution
            shown.append(Section("Solution: solve.sh", "solution", _cut(body.script, SCRIPT)))
            shown.append(Section("What it printed", "solution_output", _cut(run.output, OUTPUT)))
            shown.append(Section("What it changed, e0 -> eT", "difference", show_diff(run.diff, DIFF)))
        elif isinstance(body, Verifier):
            text = _cut(relevant_source(body.test_file, [t.name for t in failing]), TESTS)
            shown.append(Section("Verifier: the tests concerned, and what they use", "tests", text))
    return shown


def relevant_source(test_file: str, failing: Sequence[str]) -> str:
    """The test file without the tests that passed; the whole of it where no test is known to have failed."""
    names = {name.partition("[")[0] for name in failing}
    try:
        tree = ast.parse(test_file)
    except (SyntaxError, ValueError):
        return test_file
    tests = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
    if not names & {test.name for test in tests}:
        return test_file
    lines = test_file.splitlines()
    left_out: set[int] = set()
    for test in tests:
        if test.name not in names:
            first = min([test.lineno, *(d.lineno for d in test.decorator_list)])
            left_out.update(range(first, (test.end_lineno or test.lineno) + 1))
    return "\n".join(line for number, line in enumerate(lines, start=1) if number not in left_out)


def _cut(text: str, limit: int) -> str:
    """Head and tail where the text is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - limit} characters left out …]\n{text[-half:]}"
