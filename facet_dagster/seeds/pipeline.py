"""Skills in, scenario seeds out: hypotheses, retrieval and judge in a row, incremental over the store.

Belongs here: what is asked in which order and what is stored. The questions themselves stand beside this module.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TypeVar

from facet_dagster.errors import ModelRefused, ModelUnavailable
from facet_dagster.ports import Embedder, Store
from facet_dagster.prompts.ask import Asker
from facet_dagster.prompts.pool import Forbearance, each
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.seed import Candidate, Hypothesis, ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.records.terms import SeedingTerms
from facet_dagster.seeds.bulk import Bulk
from facet_dagster.seeds.decide import decide
from facet_dagster.seeds.hypotheses import propose
from facet_dagster.seeds.judge import Judgement, judge, longer_id
from facet_dagster.seeds.retrieval import Proposal, retrieve

Progress = Callable[[str], None]
Answer = TypeVar("Answer", list[Hypothesis], Judgement)
LINES = 100  # of progress about single skills and proposals; of more of them, one line in a hundred is said


@dataclass(frozen=True)
class SeedResult:
    """What came of the skills. `problems`: unusable answers, each beginning with the skill or candidate id.

    `categories` by skill id, where one is known.
    """

    seeds: list[ScenarioSeed]
    candidates: list[Candidate]
    hypotheses: list[Hypothesis]
    problems: list[Rejected] = field(default_factory=list)
    categories: Mapping[str, str] = field(default_factory=dict)


async def make_seeds(
    skills: Sequence[Skill],
    asker: Asker,
    embedder: Embedder,
    store: Store,
    *,
    terms: SeedingTerms,
    categories: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> SeedResult:
    """At most `terms.max_seeds` seeds; proposals are judged in order until so many are kept, the rest is not judged.

    What is made is stored, a few at a time, and what the store holds is not asked again. The result does not
    depend on `terms.in_flight`. An answer that cannot be used or does not come costs its skill or proposal only. Raises
    what the store raises, and of the model what is more than single trouble, after the calls in flight have ended.
    """
    say = progress or _silent
    answers = await _hypotheses(skills, asker, store, terms, say)
    hypotheses = [h for answer in answers if not isinstance(answer, Rejected) for h in answer]
    vectors = await embedder.embed([hypothesis.text() for hypothesis in hypotheses])
    proposals = retrieve(hypotheses, vectors, terms, categories)
    say(f"{len(hypotheses)} hypotheses, {len(proposals)} candidates")
    judgements = await _judgements(proposals, {s.skill_id: s for s in skills}, asker, store, terms, say)
    judged = [j for j in judgements if isinstance(j, Judgement)]
    return SeedResult(
        seeds=[j.seed for j in judged if j.seed],
        candidates=[j.candidate for j in judged],
        hypotheses=hypotheses,
        problems=[x for x in (*answers, *judgements) if isinstance(x, Rejected)],
        categories=categories or {},
    )


async def _hypotheses(
    skills: Sequence[Skill], asker: Asker, store: Store, terms: SeedingTerms, say: Progress
) -> list[list[Hypothesis] | Rejected]:
    wanted, known = terms.hypotheses_per_skill, _stored_hypotheses(store)
    have = [len(known.get(skill.skill_id, ())) >= wanted for skill in skills]
    forbearance = Forbearance(terms.in_flight, known=sum(have))
    lines = _Lines(have.count(False), "skills asked", say)
    made_now = Bulk[Hypothesis](store)

    async def hypotheses_of(item: tuple[Skill, int]) -> list[Hypothesis] | Rejected:
        skill, known_before = item
        made = known.get(skill.skill_id, {})
        if len(made) >= wanted:
            return list(made.values())[:wanted]
        answer = await forbearance.answer(propose(skill, asker, count=wanted), known_before)
        proposed = _usable(answer, skill.skill_id)
        if isinstance(proposed, Rejected):
            lines.done(f"{skill.skill_id}: no usable hypotheses")
            return proposed
        made_now.add(*proposed)
        lines.done(f"{skill.skill_id}: {len(proposed)} hypotheses")
        # A put does not replace: what an interrupted run stored under the same id stands.
        return [made.get(hypothesis.hypothesis_id, hypothesis) for hypothesis in proposed]

    with made_now:
        answers = await each(list(zip(skills, accumulate(have), strict=True)), hypotheses_of, terms.in_flight)
    forbearance.conclude()
    return answers


async def _judgements(
    proposals: Sequence[Proposal],
    skills: Mapping[str, Skill],
    asker: Asker,
    store: Store,
    terms: SeedingTerms,
    say: Progress,
) -> list[Judgement | Rejected]:
    known = _stored_judgements(store)
    counts = accumulate(proposal.hypothesis_ids in known for proposal in proposals)
    known_before = dict(zip((proposal.hypothesis_ids for proposal in proposals), counts, strict=True))
    forbearance = Forbearance(terms.in_flight, known=sum(p.hypothesis_ids in known for p in proposals))
    lines = _Lines(min(len(proposals), terms.max_seeds), "proposals judged", say)
    judged_now = Bulk[Candidate](store)

    async def judgement_of(proposal: Proposal) -> Judgement | Rejected:
        said = await forbearance.answer(judge(proposal, skills, asker), known_before[proposal.hypothesis_ids])
        answer = _usable(said, proposal.candidate_id)
        if isinstance(answer, Rejected):
            lines.done(f"{proposal.candidate_id}: no usable verdict")
            return answer
        judgement = _with_its_seed(answer, store)
        judged_now.add(judgement.candidate)
        seed = judgement.seed
        lines.done(f"{seed.seed_id}: kept" if seed else f"{proposal.candidate_id}: refused")
        return judgement

    with judged_now:
        verdicts = await decide(
            proposals,
            judgement_of,
            known=lambda proposal: known.get(proposal.hypothesis_ids),
            kept=lambda judgement: isinstance(judgement, Judgement) and judgement.candidate.kept,
            kept_of_skill=Counter(s for j in known.values() if j.candidate.kept for s in j.candidate.skill_ids),
            max_kept=terms.max_seeds,
            max_per_skill=terms.seeds_per_skill,
            in_flight=terms.in_flight,
        )
    forbearance.conclude()
    return verdicts


class _Lines:
    """Progress over many: each of a few, every hundredth part of many."""

    def __init__(self, expected: int, what: str, say: Progress) -> None:
        self._step = max(1, expected // LINES)
        self._what = what
        self._say = say
        self._count = 0

    def done(self, line: str) -> None:
        self._count += 1
        if self._step == 1:
            self._say(line)
        elif self._count % self._step == 0:
            self._say(f"{self._count} {self._what}; the last: {line}")


def _with_its_seed(judgement: Judgement, store: Store) -> Judgement:
    """The judgement with its seed as that stands in the store. An id that another combination has is made longer."""
    seed = judgement.seed
    if seed is not None:
        while not store.put(seed):  # before its candidate: a stored candidate that was kept has its seed
            there = store.get(ScenarioSeed, seed.group, seed.key)
            if there is not None and there.hypothesis_ids == seed.hypothesis_ids:
                seed = there
                break
            seed = longer_id(seed, judgement.candidate.candidate_id)
    return replace(judgement, seed=seed)


def _usable(answer: Answer | Rejected | ModelRefused | ModelUnavailable, subject: str) -> Answer | Rejected:
    """The answer, or why there is none, under the name of who it was about."""
    if isinstance(answer, ModelRefused | ModelUnavailable):
        answer = Rejected(component=Component.SCENARIO, reason=Reason.ANSWER_UNUSABLE, evidence=str(answer))
    if isinstance(answer, Rejected):
        return answer.model_copy(update={"evidence": f"{subject}: {answer.evidence}"})
    return answer


def _stored_hypotheses(store: Store) -> dict[str, dict[str, Hypothesis]]:
    """By skill, then by id, in the order of their ordinals."""
    found: dict[str, dict[str, Hypothesis]] = {}
    for hypothesis in sorted(store.rows(Hypothesis), key=_ordinal):
        found.setdefault(hypothesis.skill_id, {})[hypothesis.hypothesis_id] = hypothesis
    return found


def _ordinal(hypothesis: Hypothesis) -> int:
    return int(hypothesis.hypothesis_id.rpartition("-")[2])


def _stored_judgements(store: Store) -> dict[tuple[str, ...], Judgement]:
    """By hypothesis ids: shorter ids may meet."""
    seeds = {seed.hypothesis_ids: seed for seed in store.rows(ScenarioSeed)}
    return {
        c.hypothesis_ids: Judgement(c, seeds[c.hypothesis_ids] if c.kept else None)
        for c in store.rows(Candidate)
        if not c.kept or c.hypothesis_ids in seeds
    }


def _silent(_: str) -> None:
    return None
