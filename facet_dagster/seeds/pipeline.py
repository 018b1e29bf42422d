"""Skills in, scenario seeds out: hypotheses, retrieval and judge in a row, incremental over the store.

Belongs here: what is asked in which order and what is kept. The questions themselves stand beside this module.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from facet_dagster.ports import Embedder, Store
from facet_dagster.prompts.ask import Asker
from facet_dagster.prompts.pool import each
from facet_dagster.records.outcome import Rejected
from facet_dagster.records.seed import Candidate, Hypothesis, ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.seeds.hypotheses import propose
from facet_dagster.seeds.judge import Judgement, judge
from facet_dagster.seeds.retrieval import Proposal, retrieve

Progress = Callable[[str], None]


@dataclass(frozen=True)
class SeedResult:
    """What came of the skills. `problems`: unusable answers, each beginning with the skill or candidate id."""

    seeds: list[ScenarioSeed]
    candidates: list[Candidate]
    hypotheses: list[Hypothesis]
    problems: list[Rejected] = field(default_factory=list)


async def make_seeds(
    skills: Sequence[Skill],
    asker: Asker,
    embedder: Embedder,
    store: Store,
    *,
    hypotheses_per_skill: int = 2,
    max_seeds: int,
    in_flight: int = 4,
    progress: Progress | None = None,
) -> SeedResult:
    """At most `max_seeds` seeds; proposals are judged in order until so many are kept, the rest is not judged.

    Each record is stored as soon as it is made, and what the store holds is not asked again. The result does not
    depend on `in_flight`. Raises what the model and the store raise, after the calls in flight have ended.
    """
    say = progress or _silent
    known = _stored_hypotheses(store)

    async def hypotheses_of(skill: Skill) -> list[Hypothesis] | Rejected:
        made = known.get(skill.skill_id, {})
        if len(made) >= hypotheses_per_skill:
            return list(made.values())[:hypotheses_per_skill]
        proposed = await propose(skill, asker, count=hypotheses_per_skill)
        if isinstance(proposed, Rejected):
            say(f"{skill.skill_id}: no usable hypotheses")
            return _named(proposed, skill.skill_id)
        for hypothesis in proposed:
            store.put(hypothesis)
        say(f"{skill.skill_id}: {len(proposed)} hypotheses")
        # A put does not replace: what an interrupted run stored under the same id stands.
        return [made.get(hypothesis.hypothesis_id, hypothesis) for hypothesis in proposed]

    answers = await each(skills, hypotheses_of, in_flight)
    hypotheses = [h for answer in answers if not isinstance(answer, Rejected) for h in answer]
    proposals = retrieve(hypotheses, embedder)
    say(f"{len(hypotheses)} hypotheses, {len(proposals)} candidates")
    judgements = await _judge_in_order(
        proposals, {s.skill_id: s for s in skills}, asker, store, max_seeds=max_seeds, in_flight=in_flight, say=say
    )
    judged = [j for j in judgements if isinstance(j, Judgement)]
    return SeedResult(
        seeds=[j.seed for j in judged if j.seed],
        candidates=[j.candidate for j in judged],
        hypotheses=hypotheses,
        problems=[x for x in (*answers, *judgements) if isinstance(x, Rejected)],
    )


async def _judge_in_order(
    proposals: Sequence[Proposal],
    skills: Mapping[str, Skill],
    asker: Asker,
    store: Store,
    *,
    max_seeds: int,
    in_flight: int,
    say: Progress,
) -> list[Judgement | Rejected]:
    known = _stored_judgements(store)

    async def judgement_of(proposal: Proposal) -> Judgement | Rejected:
        if stored := known.get(proposal.candidate_id):
            return stored
        judgement = await judge(proposal, skills, asker)
        if isinstance(judgement, Rejected):
            return _named(judgement, proposal.candidate_id)
        if judgement.seed:
            store.put(judgement.seed)  # before its candidate: a stored candidate that was kept has its seed
        store.put(judgement.candidate)
        say(f"{judgement.seed.seed_id}: kept" if judgement.seed else f"{proposal.candidate_id}: refused")
        return judgement

    judgements: list[Judgement | Rejected] = []
    position = kept = 0
    while kept < max_seeds and position < len(proposals):
        # No larger than what is still wanted: so no batch can keep too many or judge one that is not needed.
        batch = proposals[position : position + min(in_flight, max_seeds - kept)]
        judgements += await each(batch, judgement_of, in_flight)
        position += len(batch)
        kept = sum(isinstance(j, Judgement) and j.candidate.kept for j in judgements)
    return judgements


def _stored_hypotheses(store: Store) -> dict[str, dict[str, Hypothesis]]:
    """By skill, then by id, in the order of their ordinals."""
    found: dict[str, dict[str, Hypothesis]] = {}
    for hypothesis in sorted(store.rows(Hypothesis), key=_ordinal):
        found.setdefault(hypothesis.skill_id, {})[hypothesis.hypothesis_id] = hypothesis
    return found


def _ordinal(hypothesis: Hypothesis) -> int:
    return int(hypothesis.hypothesis_id.rpartition("-")[2])


def _stored_judgements(store: Store) -> dict[str, Judgement]:
    """By candidate id."""
    seeds = {seed.hypothesis_ids: seed for seed in store.rows(ScenarioSeed)}
    return {
        c.candidate_id: Judgement(c, seeds[c.hypothesis_ids] if c.kept else None)
        for c in store.rows(Candidate)
        if not c.kept or c.hypothesis_ids in seeds
    }


def _named(rejected: Rejected, subject: str) -> Rejected:
    return rejected.model_copy(update={"evidence": f"{subject}: {rejected.evidence}"})


def _silent(_: str) -> None:
    return None
