"""Skills: every folder read is a valid skill or a reject with one reason; checks warn where the rates look odd."""

import asyncio
from collections.abc import Iterator

import dagster as dg

from assets.markdown import table
from assets.showing import columns, picture, rate_check, teller
from facet_dagster.ports import Store
from facet_dagster.records.base import digest_of
from facet_dagster.records.skill import Skill, SkillFault, SkillIngest, SkillReject
from facet_dagster.skills.history import History, read_history
from facet_dagster.skills.stats import SkillStats, stats_of
from facet_dagster.skills.usable import Kept, kept_in
from facet_dagster.yields.bars import bars_png
from resources.doors import Doors
from resources.watching import Onlooker
from resources.workshop import Session

SAMPLE = 25  # rows shown on a page
_CATEGORIES, _REASONS = "Kept skills by category", "Refused folders by reason"
REJECTED, UNREADABLE, COPIES = 0.9, 0.05, 0.5
"""Shares of all folders above which a source is likely not what it was thought to be. In the public corpus: about a
half is refused, a thousandth is unreadable, a fifth are copies."""


@dg.multi_asset(
    specs=[
        dg.AssetSpec(
            "skills", description="Valid, normalised, de-duplicated skills.", group_name="skills", kinds={"parquet"}
        ),
        dg.AssetSpec(
            "skill_rejects",
            description="Folders that are not used, each with one reason and what shows it.",
            group_name="skills",
            kinds={"parquet"},
        ),
    ],
    check_specs=[
        dg.AssetCheckSpec("reject_rate", asset="skill_rejects", description=f"At most {REJECTED:.0%} are refused."),
        dg.AssetCheckSpec(
            "unreadable_rate", asset="skill_rejects", description=f"At most {UNREADABLE:.0%} cannot be read."
        ),
        dg.AssetCheckSpec("duplicate_rate", asset="skills", description=f"At most {COPIES:.0%} are copies of others."),
    ],
)
def skill_folders(
    context: dg.AssetExecutionContext,
    workshop: dg.ResourceParam[Session],
    doors: dg.ResourceParam[Doors],
    onlooker: dg.ResourceParam[Onlooker],
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Read the source of the settings and the inbox, and show how all that the store knows stands now."""
    say = teller(context, onlooker)
    settings, store = workshop.settings, workshop.workshop.store
    sources = doors.skill_sources(settings.skills, settings.inbox)
    ingest = doors.ingest_skills(sources, store, settings.ingest, say)
    asyncio.run(doors.decide_open(workshop.workshop, settings.ingest, say))
    history = read_history(store)  # once: at 100,000 folders it takes seconds
    stats = stats_of(store, history)
    yield _skills(store, history, ingest, stats)
    yield _rejects(store, history, stats)
    copies = stats.share(SkillFault.DUPLICATE, SkillFault.NEAR_DUPLICATE)
    yield rate_check("skills", "duplicate_rate", copies, most=COPIES)
    refused = stats.refused / stats.found if stats.found else 0.0
    yield rate_check("skill_rejects", "reject_rate", refused, most=REJECTED)
    unreadable = stats.share(SkillFault.UNREADABLE, SkillFault.TOO_LARGE)
    yield rate_check("skill_rejects", "unreadable_rate", unreadable, most=UNREADABLE)


def _skills(store: Store, history: History, ingest: SkillIngest, stats: SkillStats) -> dg.MaterializeResult[None]:
    kept = sorted(kept_in(history, store), key=lambda each: each.entry.skill_key)
    shown = list(store.get_all(Skill, "all", (each.entry.skill_key for each in kept[:SAMPLE])).values())
    return dg.MaterializeResult(
        asset_key="skills",
        metadata={
            "dagster/row_count": stats.kept,
            "dagster/column_schema": columns(Skill),
            "found": ingest.found,
            "new_or_changed": ingest.fresh,
            "removed": ingest.removed,
            "open": stats.open,
            "read_under_earlier_rules": stats.outdated.total(),
            "funnel": table(("step", "folders"), stats.funnel),
            "sources": table(("source", "folders"), stats.sources.most_common()),
            "licences": table(("licence", "skills"), stats.licences.most_common()),
            "languages": table(("language", "folders"), stats.languages.most_common()),
            "categories": picture(_CATEGORIES, bars_png(_CATEGORIES, dict(stats.categories.most_common()))),
            "cluster_sizes": table(("copies", "clusters"), sorted(stats.clusters.items(), reverse=True)),
            "sample": table(("skill", "name", "description"), ((s.skill_id, s.name, s.description) for s in shown)),
            "notes": table(("skill", "notes"), ((s.skill_id, "; ".join(s.notes)) for s in shown if s.notes)),
        },
        data_version=dg.DataVersion(digest_of("\n".join(_known_of(each) for each in kept))[:32]),
    )


def _known_of(kept: Kept) -> str:
    """All of a skill that those downstream see: its text, and its class."""
    view = kept.view
    return f"{kept.entry.skill_key} {view.actionable} {view.family} {view.category}" if view else kept.entry.skill_key


def _rejects(store: Store, history: History, stats: SkillStats) -> dg.MaterializeResult[None]:
    entries = sorted((e for e in history.live() if e.reject_key), key=lambda e: e.reject_key)
    sample = store.get_all(SkillReject, "all", (entry.reject_key for entry in entries[:SAMPLE])).values()
    reasons = dict(stats.reasons.most_common())
    return dg.MaterializeResult(
        asset_key="skill_rejects",
        metadata={
            "dagster/row_count": stats.refused,
            "dagster/column_schema": columns(SkillReject),
            "picture": picture(_REASONS, bars_png(_REASONS, reasons)),
            "reasons": table(("reason", "folders"), reasons.items()),
            "sample": table(("folder", "reason", "evidence"), ((r.path, r.fault, r.evidence) for r in sample)),
        },
        data_version=dg.DataVersion(digest_of("\n".join(entry.reject_key for entry in entries))[:32]),
    )
