"""Where a thing came from: a row of an SFT set, a task or a seed, back to the skills and their licences, as one tree.

A front door like results.py, for the command line and the Dagster assets. Only the store is read.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from facet_dagster.errors import SettingsError
from facet_dagster.ports import Store
from facet_dagster.records.bundle import ComponentVersion, Task
from facet_dagster.records.bundle import Origin as Written
from facet_dagster.records.call import LedgerRow
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.rollout import Trial
from facet_dagster.records.seed import Hypothesis, ScenarioSeed
from facet_dagster.records.sft import Decision, SftSet
from facet_dagster.skills.usable import skills_by_id

Fact = str | int | float | None

# The stations whose calls write a component; others only execute.
_STATIONS = {
    Component.SCENARIO: ("scenario.",),
    Component.ENVIRONMENT: ("environment.",),
    Component.INSTRUCTION: ("authoring.instruction", "authoring.joint"),
    Component.SOLUTION: ("authoring.solution", "authoring.joint"),
    Component.VERIFIER: ("authoring.verifier", "authoring.joint"),
}


@dataclass(frozen=True)
class Origin:
    """A thing and what it was made from. `facts` are shown beside its name, empty ones left out."""

    kind: str
    name: str
    facts: Mapping[str, Fact] = field(default_factory=dict)
    made_from: tuple["Origin", ...] = ()

    def label(self) -> str:
        """The thing in one line."""
        facts = "  ".join(f"{name} {value}" for name, value in self.facts.items() if value not in (None, ""))
        return f"{self.kind} {self.name}" + (f"  ({facts})" if facts else "")

    def lines(self, depth: int = 0) -> Iterator[str]:
        """The tree as indented lines."""
        yield f"{'  ' * depth}- {self.label()}"
        for each in self.made_from:
            yield from each.lines(depth + 1)

    def as_json(self) -> dict[str, Any]:
        """The tree as plain values."""
        return asdict(self)


def trace(store: Store, name: str) -> Origin:
    """The origin of a row (`SEED/TRIAL` or `SEED/TRIAL/context-N`, as ShareGPT rows are called), a task or a seed.

    Raises SettingsError for what the store does not know.
    """
    first, _, rest = name.partition("/")
    if not rest and (seed := store.get(ScenarioSeed, "all", name)):
        return _seed(store, seed)
    trial_key, _, context = rest.partition("/context-")
    trial = store.get(Trial, first, trial_key)
    if trial is not None and (not context or context.isdecimal()):
        return _row(store, trial, int(context or 0))
    versions = store.rows(ComponentVersion, rest)
    task = next((each for each in reversed(versions) if isinstance(each.body, Task) and each.body.name == name), None)
    if task is None:
        raise SettingsError(f"unknown seed, task or row {name!r}: `facet seeds` lists the seeds there are")
    return _task(store, task, versions)


def trace_task(store: Store, version: ComponentVersion) -> Origin:
    """The origin of an accepted task."""
    return _task(store, version, store.rows(ComponentVersion, version.seed))


def _row(store: Store, trial: Trial, context: int) -> Origin:
    decision, made = _decision(store, trial, context)
    name = f"{trial.seed}/{trial.key}" + (f"/context-{context}" if context else "")
    facts: dict[str, Fact] = {"set": made[:12], "turns": sum(turn.context == context for turn in trial.turns)}
    if decision is not None:
        facts |= {"split": decision.split, "left out by": decision.rule.value if decision.rule else None}
    return Origin("row", name, facts, (_trial(store, trial),))


def _decision(store: Store, trial: Trial, context: int) -> tuple[Decision | None, str]:
    newest = max(store.rows(SftSet), key=lambda each: each.at, default=None)
    for decision in newest.decisions if newest else ():
        if (decision.seed, decision.trial, decision.context) == (trial.seed, trial.key, context):
            return decision, newest.set_id if newest else ""
    return None, ""


def _trial(store: Store, trial: Trial) -> Origin:
    versions = store.rows(ComponentVersion, trial.seed)
    tasks = [each for each in versions if isinstance(each.body, Task) and each.body.bundle == trial.bundle]
    facts: dict[str, Fact] = {
        "model": trial.model + (" (recorded)" if trial.recorded else ""),
        "reward": trial.reward,
        "stop": trial.stop.value,
        "engine": trial.engine,
        "tokens": trial.tokens,
        "USD": round(trial.cost_usd, 4),
        "run": trial.run_id,
        "imported from": trial.origin,
    }
    name = f"attempt {trial.attempt} {trial.started_at:%Y-%m-%d %H:%M}"
    if not tasks:
        unknown = Origin("task", trial.task, {"bundle": trial.bundle[:12], "state": "not one that this store has made"})
        return Origin("trial", name, facts, (unknown,))
    return Origin("trial", name, facts, (_task(store, tasks[-1], versions),))


def _task(store: Store, task: ComponentVersion, versions: list[ComponentVersion]) -> Origin:
    assert isinstance(task.body, Task)
    calls = store.rows(LedgerRow, task.seed)
    parts = [_component(version, _written(version, versions), calls) for version in _used(task, versions)]
    facts: dict[str, Fact] = {
        "bundle": task.body.bundle[:12],
        "tests": task.body.tests,
        "folder": task.body.directory,
        "run": task.run_id,
    }
    seed = store.get(ScenarioSeed, "all", task.seed)
    return Origin("task", task.body.name, facts, (*parts, *([_seed(store, seed)] if seed else [])))


def _used(task: ComponentVersion, versions: Iterable[ComponentVersion]) -> list[ComponentVersion]:
    """The versions that a task is made of, found by the digests that each names as its inputs, the last made first."""
    by_digest: dict[tuple[str, str], ComponentVersion] = {}
    for each in versions:
        if each.sequence < task.sequence:  # of the same body, the first: it was written then, and only executed later
            by_digest.setdefault((each.component.value, each.body.digest()), each)
    found: dict[int, ComponentVersion] = {}
    wanted = list(task.inputs.items())
    while wanted:
        version = by_digest.get(wanted.pop())
        if version is not None and version.sequence not in found:
            found[version.sequence] = version
            wanted += version.inputs.items()
    return [found[sequence] for sequence in sorted(found, reverse=True)]


def _written(version: ComponentVersion, versions: Iterable[ComponentVersion]) -> ComponentVersion:
    """The version in which the text of this one was written: an earlier one where it was only executed again."""
    if version.origin is not Written.REEXECUTED:
        return version
    before = [
        each
        for each in versions
        if each.component is version.component
        and each.sequence < version.sequence
        and each.origin is not Written.REEXECUTED
        and not isinstance(each.body, Rejected)  # what could not be used replaced nothing
    ]
    return max(before, key=lambda each: each.sequence, default=version)


def _component(version: ComponentVersion, written: ComponentVersion, calls: list[LedgerRow]) -> Origin:
    stations = _STATIONS.get(version.component, ())
    wrote = [call for call in calls if call.round == written.round and call.station.startswith(stations)]
    answered = version.diagnosis
    facts: dict[str, Fact] = {
        "version": version.sequence,
        "round": version.round,
        "origin": version.origin.value,
        "answers": f"{answered.component.value}: {answered.reason.value}" if answered else None,
        "models": ", ".join(sorted({call.model for call in wrote})),
        "prompts": ", ".join(sorted({f"{call.station}@{call.prompt_hash[:8]}" for call in wrote})),
        "digest": version.body.digest()[:12],
    }
    return Origin(version.component.value, "", facts)


def _seed(store: Store, seed: ScenarioSeed) -> Origin:
    skills = skills_by_id(store, seed.skill_ids)
    hypotheses = store.get_all(Hypothesis, "all", seed.hypothesis_ids)
    by_skill = {each.skill_id: each for each in hypotheses.values()}
    origins = []
    for skill_id in seed.skill_ids:
        skill, hypothesis = skills.get(skill_id), by_skill.get(skill_id)
        facts: dict[str, Fact] = {}
        if skill is not None:
            facts |= {"name": skill.name, "licence": skill.licence, "source": skill.source, "path": skill.path}
            facts["text"] = skill.content_hash[:12]
        if hypothesis is not None:
            facts["hypothesis"] = f"{hypothesis.hypothesis_id}: {hypothesis.goal}"
        origins.append(Origin("skill", skill_id, facts))
    return Origin("seed", seed.seed_id, {"title": seed.title}, tuple(origins))
