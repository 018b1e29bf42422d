"""Seeds: hypotheses per skill, and the judged combinations that become the partitions of all that follows."""

import asyncio
from collections.abc import Iterator

import dagster as dg

from assets.markdown import table
from assets.partitions import scenario_seed
from facet_dagster.records.base import digest_of
from facet_dagster.records.skill import Skill
from facet_dagster.seeds.pipeline import SeedResult
from resources.doors import Doors
from resources.watching import Onlooker
from resources.workshop import Session

SAMPLE = 25  # rows shown on a page


@dg.multi_asset(
    specs=[
        dg.AssetSpec(
            "scenario_hypotheses",
            deps=["skills"],
            description="Settings in which a skill could be used: context, goal, initial and final state.",
            group_name="seeds",
            kinds={"openai"},
        ),
        dg.AssetSpec(
            "scenario_seeds",
            deps=["scenario_hypotheses"],
            description="Skill combinations that the judge kept; each is registered as a partition.",
            group_name="seeds",
            kinds={"openai"},
        ),
    ]
)
def seeding(
    context: dg.AssetExecutionContext,
    workshop: dg.ResourceParam[Session],
    doors: dg.ResourceParam[Doors],
    onlooker: dg.ResourceParam[Onlooker],
) -> Iterator[dg.MaterializeResult[None]]:
    """Ask for what the store does not hold yet; one call makes both, so that no skill is read twice."""

    def say(line: str) -> None:
        context.log.info(line)
        onlooker.note(line)

    bench = workshop.workshop
    result = asyncio.run(doors.plan_seeds(bench.store.rows(Skill), bench, say))
    # Also those of earlier plans: what is in the store can be worked on.
    seed_ids = [seed.seed_id for seed in doors.find_seeds(bench)]
    context.instance.add_dynamic_partitions(scenario_seed.name or "", seed_ids)
    yield _hypotheses(result)
    yield _seeds(result)


def _hypotheses(result: SeedResult) -> dg.MaterializeResult[None]:
    sample = ((h.skill_id, h.context, h.goal) for h in result.hypotheses[:SAMPLE])
    return dg.MaterializeResult(
        asset_key="scenario_hypotheses",
        metadata={
            "dagster/row_count": len(result.hypotheses),
            "sample": table(("skill", "context", "goal"), sample),
            "problems": table(("reason", "evidence"), ((p.reason, p.evidence) for p in result.problems)),
        },
        data_version=dg.DataVersion(digest_of("\n".join(sorted(h.digest() for h in result.hypotheses)))[:32]),
    )


def _seeds(result: SeedResult) -> dg.MaterializeResult[None]:
    refused = [candidate for candidate in result.candidates if not candidate.kept]
    return dg.MaterializeResult(
        asset_key="scenario_seeds",
        metadata={
            "dagster/row_count": len(result.seeds),
            "candidates": len(result.candidates),
            "seeds": table(
                ("seed", "title", "skills"), ((s.seed_id, s.title, ", ".join(s.skill_ids)) for s in result.seeds)
            ),
            "refused": table(
                ("skills", "similarity", "why"),
                ((", ".join(c.skill_ids), f"{c.similarity:.3f}", c.rationale) for c in refused[:SAMPLE]),
            ),
        },
        data_version=dg.DataVersion(digest_of("\n".join(sorted(s.digest() for s in result.seeds)))[:32]),
    )
