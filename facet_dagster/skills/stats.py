"""What stands in the store about skills, counted: the funnel, reasons, categories, licences, languages, clusters.

Reads the log and the model's classes, never the skills themselves. Does not belong here: how the figures are shown.
"""

from collections import Counter
from dataclasses import dataclass

from facet_dagster.ports import Store
from facet_dagster.records.skill import SkillEntry, SkillFault
from facet_dagster.skills.history import History, read_history
from facet_dagster.skills.reading import rules_version
from facet_dagster.skills.usable import kept_in

_STEPS: tuple[tuple[str, frozenset[SkillFault]], ...] = (
    ("readable", frozenset({SkillFault.UNREADABLE, SkillFault.TOO_LARGE})),
    (
        "with front matter and body",
        frozenset(
            {
                SkillFault.NO_FRONT_MATTER,
                SkillFault.BAD_FRONT_MATTER,
                SkillFault.NO_NAME,
                SkillFault.NO_DESCRIPTION,
                SkillFault.EMPTY_BODY,
            }
        ),
    ),
    ("safe", frozenset({SkillFault.UNSAFE})),
    ("in English", frozenset({SkillFault.OTHER_LANGUAGE})),
    ("self-contained", frozenset({SkillFault.NEEDS_PRIVATE_ACCESS})),
    ("actionable", frozenset({SkillFault.NOT_ACTIONABLE})),
    ("no exact duplicate", frozenset({SkillFault.DUPLICATE})),
    ("no near duplicate", frozenset({SkillFault.NEAR_DUPLICATE})),
)
NO_CLASS = "not classified"


@dataclass(frozen=True)
class SkillStats:
    """Counts over all folders that are there now. `clusters`: size -> number of groups of copies of that size."""

    funnel: tuple[tuple[str, int], ...]
    kept: int
    removed: int
    reasons: Counter[str]
    sources: Counter[str]
    families: Counter[str]
    categories: Counter[str]
    licences: Counter[str]
    languages: Counter[str]
    clusters: Counter[int]
    open: int  # kept, and nobody has decided yet whether a terminal can act on them
    outdated: Counter[str]  # by collection: folders that were read under other rules than those of now

    @property
    def found(self) -> int:
        """All folders."""
        return self.funnel[0][1]

    def share(self, *faults: SkillFault) -> float:
        """Of all folders, the part refused for one of these reasons; 0 where there are no folders."""
        return sum(self.reasons[fault.value] for fault in faults) / self.found if self.found else 0.0

    @property
    def refused(self) -> int:
        """All folders that are not kept."""
        return self.reasons.total()


def stats_of(store: Store, history: History | None = None) -> SkillStats:
    """Count what the store holds. `history` is its log where the caller has read it."""
    history = history or read_history(store)
    live = history.live()
    kept = kept_in(history, store)
    views = [each.view for each in kept]
    faults = Counter(entry.fault for entry in live if entry.fault)
    usable = sum(each.usable for each in kept)
    return SkillStats(
        funnel=(*_funnel(len(live), faults), ("not refused by a model", usable)),
        kept=len(kept),
        removed=len(history.latest) - len(live),
        reasons=Counter({fault.value: count for fault, count in faults.items()}),
        sources=Counter(entry.source for entry in live),
        families=Counter(each.family.value if each and each.family else NO_CLASS for each in views),
        categories=Counter(each.category if each and each.category else NO_CLASS for each in views),
        licences=Counter(each.entry.licence for each in kept),
        languages=Counter(entry.language for entry in live if entry.language),
        clusters=_clusters(live),
        open=sum(each.open for each in kept),
        outdated=history.outdated(rules_version()),
    )


def _funnel(found: int, faults: Counter[SkillFault]) -> tuple[tuple[str, int], ...]:
    steps = [("found", found)]
    for step, lost in _STEPS:
        found -= sum(faults[fault] for fault in lost)
        steps.append((step, found))
    return tuple(steps)


def _clusters(live: list[SkillEntry]) -> Counter[int]:
    sizes = Counter(entry.cluster for entry in live if entry.cluster)
    return Counter(size for size in sizes.values() if size > 1)
