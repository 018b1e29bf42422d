"""G6: every requirement is stated by the instruction and asserted by a test; every test names a requirement.

And no test demands a name of an output that neither the instruction nor the initial state tells, as the oracle's
containers showed; that needs no requirements, so it holds of everybody's tasks.
"""

from facet_dagster.quoting import stands_in
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import ContractRow, Gate, GateResult, SkippedGate
from facet_dagster.validation.candidate import Contract
from facet_dagster.validation.examination import Examination, failed, passed
from facet_dagster.validation.static.names import Name


async def contract(exam: Examination) -> GateResult | SkippedGate:
    """The table of requirements, clauses and tests; whoever breaks it first is named."""
    promised = exam.candidate.contract
    hidden = [_hidden(name) for name in exam.hidden]
    if promised is None:
        if hidden:
            return failed(Gate.CONTRACT, 0, "\n".join(hidden), Reason.HIDDEN_NAME, Component.VERIFIER)
        return SkippedGate(gate=Gate.CONTRACT, why="the task has no requirements with ids")
    exam.contract = contract_table(promised)
    unstated = _unstated(exam.contract, exam.candidate.instruction)
    untested = _untested(promised, exam.contract)
    if unstated or untested or hidden:
        component = Component.INSTRUCTION if unstated else Component.VERIFIER
        reason = Reason.CONTRACT_BROKEN if unstated or untested else Reason.HIDDEN_NAME
        return failed(Gate.CONTRACT, 0, "\n".join([*unstated, *untested, *hidden]), reason, component)
    tests = len(promised.tests)
    return passed(Gate.CONTRACT, 0, f"{len(exam.contract)} requirements, each stated and tested; {tests} tests")


def _hidden(name: Name) -> str:
    return f"- {name.place}: {name.text!r} is demanded, but neither the instruction nor the environment tells of it"


def contract_table(promised: Contract) -> tuple[ContractRow, ...]:
    """One row per requirement of the scenario."""
    return tuple(
        ContractRow(
            requirement=requirement.id,
            text=requirement.text,
            clause=promised.clauses.get(requirement.id, ""),
            tests=tuple(test for test, ids in promised.tests.items() if requirement.id in ids),
        )
        for requirement in promised.requirements
    )


def _unstated(rows: tuple[ContractRow, ...], instruction: str) -> list[str]:
    """Requirements whose words do not stand in the instruction; white space does not count."""
    found = []
    for row in rows:
        if not row.clause.strip():
            found.append(f"- {row.requirement} is not stated by the instruction: {row.text}")
        elif not stands_in(row.clause, instruction):
            found.append(f"- {row.requirement}: its clause does not occur in the instruction: {row.clause}")
    return found


def _untested(promised: Contract, rows: tuple[ContractRow, ...]) -> list[str]:
    known = {row.requirement for row in rows}
    found = [f"- {row.requirement} has no test: {row.text}" for row in rows if not row.tests]
    for test, ids in promised.tests.items():
        if not ids:
            found.append(f"- {test} names no requirement")
        found += [f"- {test} names {id}, which is no requirement" for id in ids if id not in known]
    return found
