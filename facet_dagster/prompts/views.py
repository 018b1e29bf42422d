"""How records are shown to a model: compact, bounded, in a fixed order. No station's wording belongs here."""

import json

from facet_dagster.records.authoring import FileChange, StateDiff
from facet_dagster.records.base import Record
from facet_dagster.records.environment import ObservedFile, ObservedState
from facet_dagster.records.scenario import Dimensions, Requirement, Scenario
from facet_dagster.records.validation import Feedback


def as_json(record: Record, *leave_out: str) -> str:
    """A record as compact JSON without its bookkeeping fields."""
    value = record.model_dump(mode="json", exclude={"schema_version", "kind", *leave_out})
    return json.dumps(_without_versions(value), ensure_ascii=False)


def _without_versions(node: object) -> object:
    if isinstance(node, dict):
        return {k: _without_versions(v) for k, v in node.items() if k != "schema_version"}
    if isinstance(node, list):
        return [_without_versions(v) for v in node]
    return node


def show_requirements(requirements: tuple[Requirement, ...]) -> str:
    """One line per requirement with its id."""
    return "\n".join(f"{r.id}: {r.text} (seen in: {r.observable})" for r in requirements)


def show_description(title: str, description: str, dimensions: Dimensions) -> str:
    """C: the description under its title, with the five dimensions, which carry the formats."""
    sides = "\n".join(f"{name.replace('_', ', ')}: {text}" for name, text in dimensions if name != "schema_version")
    return f"{title}\n\n{description}\n\n{sides}"


def show_scenario(scenario: Scenario) -> str:
    """Z = (C, R_S, R_I) with the requirements, as sections."""
    return "\n\n".join(
        [
            f"## Scenario: {show_description(scenario.title, scenario.description, scenario.dimensions)}",
            f"## Solution reference\n{scenario.solution_reference}",
            f"## Instruction reference\n{scenario.instruction_reference}",
            f"## Requirements\n{show_requirements(scenario.requirements)}",
        ]
    )


def show_state(state: ObservedState, limit: int = 8_000) -> str:
    """The observed tree and machine; what does not fit in `limit` characters is counted, not shown."""
    files = [_file_line(f) for f in state.files if f.type != "dir"]
    directories = [f.path for f in state.files if f.type == "dir"]
    head = [f"directories: {' '.join(directories[:60])}"]
    tail = [
        f"packages beyond the base: {' '.join(state.packages) or 'none'}",
        f"tools: {'; '.join(f'{name}: {version}' for name, version in state.tools.items()) or 'none'}",
        f"users: {' '.join(state.users) or 'none'}",
        f"listening: {' '.join(state.listening) or 'nothing'}",
    ]
    room = limit - sum(len(line) for line in head + tail)
    return "\n".join([*head, "files:", *_bounded(files, room), *tail])


def show_diff(diff: StateDiff, limit: int = 8_000) -> str:
    """What changed between e0 and eT, one entry per path."""
    if diff.empty:
        return "nothing changed"
    lines = [_change_line(change) for change in diff.files]
    services = [f"now listening: {x}" for x in diff.listening_added]
    services += [f"no longer listening: {x}" for x in diff.listening_removed]
    return "\n".join([*_bounded(lines, limit), *services])


def show_feedback(feedback: Feedback | None) -> str:
    """Why a version is to be rewritten; empty on the first pass."""
    if feedback is None:
        return ""
    diagnosis = feedback.diagnosis
    earlier = "\n".join(f"- {line}" for line in feedback.earlier) or "- none"
    advice = f"\nAdvice: {diagnosis.advice}" if diagnosis.advice else ""
    return (
        f"Fault found in the {diagnosis.component.value}: {diagnosis.reason.value}\n"
        f"Evidence:\n{diagnosis.evidence}{advice}\n\nEarlier rounds:\n{earlier}"
    )


def _file_line(entry: ObservedFile) -> str:
    target = f" -> {entry.target}" if entry.target else ""
    sniffed = f" | {entry.sniffed}" if entry.sniffed else ""
    line = f"{entry.path}{target} ({entry.type}, {entry.size} B, {entry.mode}, {entry.owner}){sniffed}"
    return line + (f"\n{_indent(entry.sample)}" if entry.sample else "")


def _change_line(change: FileChange) -> str:
    if change.change == "removed":
        return f"removed {change.path}"
    entry = change.after or change.before
    return f"{change.change} {_file_line(entry)}" if entry else f"{change.change} {change.path}"


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _bounded(lines: list[str], limit: int) -> list[str]:
    """As many whole entries as fit; samples are dropped before entries are."""
    if sum(len(line) + 1 for line in lines) > limit:
        lines = [line.partition("\n")[0] for line in lines]
    shown: list[str] = []
    for line in lines:
        limit -= len(line) + 1
        if limit < 0:
            return [*shown, f"… and {len(lines) - len(shown)} more"]
        shown.append(line)
    return shown
