"""Forward, reverse and joint on the same seeds: the other schemes start from the forward walk's first versions.

Scenario and environment (and for reverse the instruction) are taken over as they were at the first pass, so that the
schemes differ in nothing else. Each scheme has a store of its own below the main one, and seeds named after it.
"""

from collections.abc import Sequence

from facet_dagster.ports import Store
from facet_dagster.records.bundle import ComponentVersion, Origin
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.records.terms import Scheme
from facet_dagster.settings import Settings

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
            "store": f"{settings.store.rstrip('/')}/schemes/{scheme.value}",
            "out": settings.out / "schemes" / scheme.value,
            "construction": settings.construction.model_copy(update={"scheme": scheme}),
        }
    )


def name_of(seed_id: str, scheme: Scheme) -> str:
    """A seed's name under another scheme: its calls and recordings are told apart by it."""
    return f"{seed_id}-{scheme.value}"


def take_over(source: Store, target: Store, seeds: Sequence[ScenarioSeed], scheme: Scheme) -> list[ScenarioSeed]:
    """The seeds under another scheme's names, with what the schemes share; those without an environment stay out."""
    for skill in source.rows(Skill):
        target.put(skill)
    taken = []
    for seed in seeds:
        shared = _first_versions(source, seed.seed_id, _SHARED[scheme])
        if shared is None:
            continue
        renamed = seed.model_copy(update={"seed_id": name_of(seed.seed_id, scheme)})
        target.put(renamed)
        for sequence, version in enumerate(shared):
            target.put(version.model_copy(update={"seed": renamed.seed_id, "sequence": sequence}))
        taken.append(renamed)
    return taken


def _first_versions(store: Store, seed_id: str, components: Sequence[Component]) -> list[ComponentVersion] | None:
    """The versions of the first pass, in order; None where one of them could not be made."""
    authored = {
        v.component: v
        for v in store.rows(ComponentVersion, seed_id)
        if v.origin is Origin.AUTHORED and v.round == 0 and not isinstance(v.body, Rejected)
    }
    return [authored[c] for c in components] if all(c in authored for c in components) else None
