"""Seeds: hypotheses per skill, and the judged combinations that become the partitions of all that follows."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence

import dagster as dg

from assets.markdown import table
from assets.partitions import scenario_seed
from assets.showing import columns, picture, rate_check, teller
from facet_dagster.records.base import digest_of
from facet_dagster.records.seed import Hypothesis, ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.seeds.pictures import similarity_png
from facet_dagster.seeds.pipeline import SeedResult
from facet_dagster.seeds.retrieval import UNCLASSIFIED
from facet_dagster.skills.usable import usable_skills
from facet_dagster.yields.bars import bars_png
from resources.doors import Doors
from resources.watching import Onlooker
from resources.workshop import Session

SAMPLE = 25  # rows shown on a page
UNUSABLE = 0.05  # share of skills without usable hypotheses, above which prompt or model is likely at fault
KEPT_LEAST, KEPT_MOST = 0.1, 0.9  # share of judged candidates that are kept; outside, the judge likely does not judge
LASTING = "a seed never changes"
"""Data version of all plans: a further seed is a further partition, and nothing new to what is made of the others."""
_ALIKE, _BY_CATEGORY = "How alike judged candidates are", "Seeds by category of their skills"


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
    ],
    check_specs=[
        dg.AssetCheckSpec(
            "unusable_rate",
            asset="scenario_hypotheses",
            description=f"At most {UNUSABLE:.0%} of the skills are without usable hypotheses.",
        ),
        dg.AssetCheckSpec(
            "kept_rate",
            asset="scenario_seeds",
            description=f"The judge keeps {KEPT_LEAST:.0%} to {KEPT_MOST:.0%} of the candidates.",
        ),
    ],
)
def seeding(
    context: dg.AssetExecutionContext,
    workshop: dg.ResourceParam[Session],
    doors: dg.ResourceParam[Doors],
    onlooker: dg.ResourceParam[Onlooker],
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Ask for what the store does not hold yet; one call makes both, so that no skill is read twice."""
    say = teller(context, onlooker)
    bench = workshop.workshop
    skills = usable_skills(bench.store)
    try:
        result = asyncio.run(doors.plan_seeds(skills, bench, say))
    finally:
        # Also those of earlier plans, and of one that met trouble: what is in the store can be worked on.
        seed_ids = [seed.seed_id for seed in doors.find_seeds(bench)]
        context.instance.add_dynamic_partitions(scenario_seed.name or "", seed_ids)
    yield _hypotheses(result, skills)
    yield _seeds(result)
    asked = {skill.skill_id for skill in skills}
    without = asked - {hypothesis.skill_id for hypothesis in result.hypotheses}
    yield rate_check("scenario_hypotheses", "unusable_rate", len(without) / len(asked) if asked else 0.0, most=UNUSABLE)
    if result.candidates:
        kept = sum(candidate.kept for candidate in result.candidates) / len(result.candidates)
        yield rate_check("scenario_seeds", "kept_rate", kept, least=KEPT_LEAST, most=KEPT_MOST)
    else:
        yield rate_check("scenario_seeds", "kept_rate", 0.0)


def _hypotheses(result: SeedResult, skills: Sequence[Skill]) -> dg.MaterializeResult[None]:
    sample = ((h.skill_id, h.context, h.goal) for h in result.hypotheses[:SAMPLE])
    return dg.MaterializeResult(
        asset_key="scenario_hypotheses",
        metadata={
            "dagster/row_count": len(result.hypotheses),
            "dagster/column_schema": columns(Hypothesis),
            "skills": len(skills),
            "sample": table(("skill", "context", "goal"), sample),
            "problem_count": len(result.problems),
            "problems": table(("reason", "evidence"), ((p.reason, p.evidence) for p in result.problems[:SAMPLE])),
        },
        data_version=dg.DataVersion(digest_of("\n".join(sorted(h.digest() for h in result.hypotheses)))[:32]),
    )


def _seeds(result: SeedResult) -> dg.MaterializeResult[None]:
    refused = [candidate for candidate in result.candidates if not candidate.kept]
    categories = Counter(
        category
        for seed in result.seeds
        for category in {result.categories.get(skill, UNCLASSIFIED) for skill in seed.skill_ids}
    )
    shares = Counter(Counter(skill for seed in result.seeds for skill in seed.skill_ids).values())
    return dg.MaterializeResult(
        asset_key="scenario_seeds",
        metadata={
            "dagster/row_count": len(result.seeds),
            "dagster/column_schema": columns(ScenarioSeed),
            "candidates": len(result.candidates),
            "similarity": picture(_ALIKE, similarity_png(result.candidates)),
            "categories": picture(_BY_CATEGORY, bars_png(_BY_CATEGORY, dict(categories.most_common()))),
            "seeds_per_skill": table(("seeds", "skills that are in so many"), sorted(shares.items())),
            "seeds": table(
                ("seed", "title", "skills"),
                ((s.seed_id, s.title, ", ".join(s.skill_ids)) for s in result.seeds[:SAMPLE]),
            ),
            "refused": table(
                ("skills", "similarity", "why"),
                ((", ".join(c.skill_ids), f"{c.similarity:.3f}", c.rationale) for c in refused[:SAMPLE]),
            ),
        },
        data_version=dg.DataVersion(LASTING),
    )
