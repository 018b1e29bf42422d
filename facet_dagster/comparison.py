"""Forward, reverse and joint on the same seeds: the other schemes start from the forward walk's first versions.

Scenario and environment (and for reverse the instruction) are taken over as they were at the first pass, so that the
schemes differ in nothing else; a seed that lacks one of them cannot be compared. Each scheme has a store of its own
below the main one, and seeds named after it.
"""

from collections.abc import Mapping, Sequence

from facet_dagster.ports import Store
from facet_dagster.records.bundle import ComponentVersion, Origin, SeedOutcome, Status
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.terms import Scheme
from facet_dagster.scheme_stores import store_of
from facet_dagster.settings import Settings
from facet_dagster.skills.usable import skills_by_id

OTHERS = (Scheme.REVERSE, Scheme.JOINT)
_SHARED = {
    Scheme.REVERSE: (Component.SCENARIO, Component.ENVIRONMENT, Component.INSTRUCTION),
    Scheme.JOINT: (Component.SCENARIO, Component.ENVIRONMENT),
}


def settings_of(settings: Settings, scheme: Scheme) -> Settings:
    """The same settings, so the same repair budget, for another scheme with a store of its own."""
    if scheme is settings.construction.scheme:
        return settings
    return settings.model_copy(
        update={
            "store": store_of(settings.store, scheme),
            "out": settings.out / "schemes" / scheme.value,
            "construction": settings.construction.model_copy(update={"scheme": scheme}),
        }
    )


def name_of(seed_id: str, scheme: Scheme) -> str:
    """A seed's name under another scheme: its calls and recordings are told apart by it."""
    return f"{seed_id}-{scheme.value}"


def take_over(source: Store, target: Store, seeds: Sequence[ScenarioSeed], scheme: Scheme) -> list[ScenarioSeed]:
    """The seeds under another scheme's names, with what the schemes share; those that lack some of it stay out."""
    skills = skills_by_id(source, [skill_id for seed in seeds for skill_id in seed.skill_ids])
    # The other store has no log that would name the revision that counts: it has no other.
    target.put_all([skill.model_copy(update={"revision": 0}) for skill in skills.values()])
    taken = []
    for seed in seeds:
        first = _first_versions(source, seed.seed_id)
        if _missing(first, scheme) is not None:
            continue
        shared = [first[component] for component in _SHARED[scheme]]
        renamed = seed.model_copy(update={"seed_id": name_of(seed.seed_id, scheme)})
        target.put(renamed)
        for sequence, version in enumerate(shared):
            target.put(version.model_copy(update={"seed": renamed.seed_id, "sequence": sequence}))
        taken.append(renamed)
    return taken


def left_out(stores: Mapping[Scheme, Store]) -> dict[str, str]:
    """The seeds of the forward store that did not end under every scheme, each with the first reason for it."""
    forward = stores[Scheme.FORWARD]
    why = {seed.seed_id: _why_left_out(seed.seed_id, stores) for seed in forward.rows(ScenarioSeed)}
    return {seed_id: reason for seed_id, reason in why.items() if reason is not None}


def _why_left_out(seed_id: str, stores: Mapping[Scheme, Store]) -> str | None:
    first = _first_versions(stores[Scheme.FORWARD], seed_id)
    for scheme, store in stores.items():
        forward = scheme is Scheme.FORWARD
        outcomes = store.rows(SeedOutcome, seed_id if forward else name_of(seed_id, scheme))
        last = max(outcomes, key=lambda row: row.at, default=None)
        if last is not None and last.status is not Status.PENDING:
            continue
        missing = None if forward else _missing(first, scheme)
        if missing is not None:
            return f"{scheme.value}: no {missing.value} of the forward first pass to start from"
        return f"{scheme.value}: {'not walked yet' if last is None else 'pending'}"
    return None


def _missing(first: Mapping[Component, ComponentVersion], scheme: Scheme) -> Component | None:
    return next((component for component in _SHARED[scheme] if component not in first), None)


def _first_versions(store: Store, seed_id: str) -> dict[Component, ComponentVersion]:
    """The versions of the first pass, without those that could not be made."""
    return {
        v.component: v
        for v in store.rows(ComponentVersion, seed_id)
        if v.origin is Origin.AUTHORED and v.round == 0 and not isinstance(v.body, Rejected)
    }
