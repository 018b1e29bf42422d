"""What a person sees on an asset page: one component version, rejection or outcome as Dagster metadata.

Belongs here: choosing what to show. Does not belong here: how markdown is made safe (markdown.py), when an
event is written (recorder.py).
"""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.markdown import fenced, table
from facet_dagster.records.authoring import Instruction, Solution, StateDiff, Verifier
from facet_dagster.records.bundle import ComponentVersion, SeedOutcome, Task
from facet_dagster.records.drift import DriftCheck
from facet_dagster.records.environment import Environment
from facet_dagster.records.outcome import Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.validation import GradeReport, ValidationReport

Metadata = dict[str, Any]


def page(version: ComponentVersion) -> Metadata:
    """A usable version: its figures (they plot over time) and its content."""
    return {**_figures(version), **_content(version), **_answered(version)}


def rejection_page(version: ComponentVersion, rejected: Rejected) -> Metadata:
    """A version that could not be used: what was rejected, why, and what shows it."""
    content = {} if isinstance(version.body, Rejected) else _content(version)
    return {
        "status": "rejected",
        "component": rejected.component.value,
        "reason": rejected.reason.value,
        "evidence": dg.MetadataValue.md(fenced(rejected.evidence)),
        **_figures(version),
        **content,
        **_answered(version),
    }


def outcome_page(outcome: SeedOutcome) -> Metadata:
    """The end of a walk that left something unmade."""
    return {
        "status": outcome.status.value,
        "component": outcome.component.value if outcome.component else "",
        "reason": outcome.reason.value if outcome.reason else "",
        "evidence": dg.MetadataValue.md(fenced(outcome.evidence)),
        "rounds": outcome.rounds,
    }


def drift_page(check: DriftCheck) -> Metadata:
    """Another look at an accepted task."""
    return {
        "drift": {True: "holds", False: "drifted", None: "open"}[check.verdict],
        "evidence": dg.MetadataValue.md(fenced(check.evidence)),
        "changes": dg.MetadataValue.md(fenced("\n".join(check.changes))),
        "gates": table(
            ("gate", "passed", "evidence"), ((g.gate.value, _said(g.passed), g.evidence) for g in check.gates)
        ),
        "seconds": check.seconds,
    }


def flat(values: Mapping[str, object]) -> Metadata:
    """Counts and paths of a card, one entry each; what is nested is shown as JSON."""
    shown: Metadata = {}
    for name, value in values.items():
        if isinstance(value, Mapping | list | tuple):
            shown[name] = dg.MetadataValue.json(dict(value) if isinstance(value, Mapping) else list(value))
        elif isinstance(value, bool | int | float | str):
            shown[name] = value
        else:
            shown[name] = "" if value is None else str(value)
    return shown


def _figures(version: ComponentVersion) -> Metadata:
    return {
        "round": version.round,
        "sequence": version.sequence,
        "tokens": version.tokens,
        "cost_usd": float(version.cost_usd),
        "seconds": float(version.seconds),
        "origin": version.origin.value,
    }


def _answered(version: ComponentVersion) -> Metadata:
    diagnosis = version.diagnosis
    if diagnosis is None:
        return {}
    text = f"**{diagnosis.component.value}: {diagnosis.reason.value}** (decided by {diagnosis.decided_by})"
    return {"answers": dg.MetadataValue.md(f"{text}\n\n{fenced(diagnosis.evidence)}\n\n{fenced(diagnosis.advice)}")}


def _content(version: ComponentVersion) -> Metadata:
    match version.body:
        case Scenario() as body:
            return _scenario(body)
        case Environment() as body:
            return _environment(body)
        case Instruction() as body:
            return {
                "instruction": dg.MetadataValue.md(fenced(body.text, "markdown")),
                "clauses": table(("requirement", "stated as"), body.clauses.items()),
            }
        case Solution() as body:
            return _solution(body)
        case Verifier() as body:
            return {
                "tests": dg.MetadataValue.md(fenced(body.test_file, "python")),
                "test_count": len(body.tests),
                "requirements": table(
                    ("test", "requirements"), ((name, ", ".join(ids)) for name, ids in body.requirement_table().items())
                ),
            }
        case ValidationReport() as body:
            return _validation(body)
        case Task() as body:
            return {
                "name": body.name,
                "directory": dg.MetadataValue.path(body.directory),
                "test_count": body.tests,
                "rounds": table(("component", "round"), body.rounds.items()),
            }
        case Rejected():
            return {}


def _scenario(body: Scenario) -> Metadata:
    return {
        "title": body.title,
        "description": dg.MetadataValue.md(fenced(body.description)),
        "requirements": table(
            ("id", "requirement", "shown by"), ((r.id, r.text, r.observable) for r in body.requirements)
        ),
        "dropped_skills": table(("skill", "why"), body.dropped_skills.items()),
        "solution_reference": dg.MetadataValue.md(fenced(body.solution_reference)),
    }


def _environment(body: Environment) -> Metadata:
    return {
        "dockerfile": dg.MetadataValue.md(fenced(body.dockerfile, "dockerfile")),
        "image": body.image,
        "build_seconds": float(body.build_seconds),
        "build_repairs": body.build_repairs,
        "probes": table(
            ("probe", "property", "holds", "output"), ((p.id, p.description, p.ok, p.output) for p in body.probes)
        ),
        "e0_files": table(
            ("path", "type", "bytes", "what"), ((f.path, f.type, f.size, f.sniffed) for f in body.e0.files)
        ),
    }


def _solution(body: Solution) -> Metadata:
    run = body.execution
    return {
        "solution": dg.MetadataValue.md(fenced(body.script, "bash")),
        "workflow": dg.MetadataValue.md(fenced(body.workflow)),
        "exit_code": run.exit_code,
        "run_seconds": float(run.seconds),
        "limit": run.limit or "none",
        "log": dg.MetadataValue.md(fenced(run.output)),
        "changes": _diff(run.diff),
    }


def _diff(diff: StateDiff) -> dg.MarkdownMetadataValue:
    rows: list[tuple[str, str]] = [(change.path, change.change) for change in diff.files]
    rows += [(address, "listens") for address in diff.listening_added]
    rows += [(address, "listens no more") for address in diff.listening_removed]
    return table(("what", "change"), rows)


def _validation(body: ValidationReport) -> Metadata:
    return {
        "verdict": {True: "accepted", False: "rejected", None: "open"}[body.verdict],
        "gates": table(
            ("gate", "passed", "runs", "component", "reason", "evidence"),
            ((g.gate.value, _said(g.passed), g.runs, g.component, g.reason, g.evidence) for g in body.gates),
        ),
        **({"kill_rate": body.kill_rate} if body.kill_rate is not None else {}),
        "controls": table(
            ("output", "what was done", "refused", "note"),
            ((c.path, c.what, _said(c.killed), c.note) for c in body.controls),
        ),
        "cheats": table(
            ("cheats", "reward", "trouble"), ((t.name, t.report.reward, t.report.trouble) for t in body.tampering)
        ),
        "contract": table(
            ("requirement", "demands", "stated as", "tests"),
            ((row.requirement, row.text, row.clause, ", ".join(row.tests)) for row in body.contract),
        ),
        "skipped": table(("gate", "why"), ((gate.gate.value, gate.why) for gate in body.skipped)),
        "noop_tests": _runs(body.noop_runs),
        "oracle_tests": _runs(body.oracle_runs),
        "logs": dg.MetadataValue.md(
            "\n\n".join(
                [f"{name} {number}\n{fenced(text, limit=4_000)}" for name, number, text in _logs(body)] or ["no run"]
            )
        ),
    }


def _logs(body: ValidationReport) -> list[tuple[str, int, str]]:
    logs = [("no-op", number, run.output) for number, run in enumerate(body.noop_runs, 1)]
    logs += [("solution", number, text) for number, text in enumerate(body.oracle_outputs, 1)]
    return logs + [("oracle", number, run.output) for number, run in enumerate(body.oracle_runs, 1)]


def _runs(runs: tuple[GradeReport, ...]) -> dg.MarkdownMetadataValue:
    rows = ((number, t.name, t.outcome, t.message) for number, run in enumerate(runs, 1) for t in run.tests)
    return table(("run", "test", "outcome", "message"), rows)


def _said(passed: bool | None) -> str:
    return {True: "yes", False: "no", None: "open"}[passed]
