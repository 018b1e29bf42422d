"""The seed pipeline: incremental, deterministic in order, and careful with what is already paid for."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from facet_dagster.errors import BudgetSpent, ModelRefused, ModelUnavailable, TextRefused
from facet_dagster.ports import Came
from facet_dagster.prompts.ask import Asker
from facet_dagster.records.base import StoredRecord
from facet_dagster.records.call import ChatRequest
from facet_dagster.records.outcome import Reason
from facet_dagster.records.seed import Candidate, Hypothesis, ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.records.terms import SeedingTerms
from facet_dagster.seeds.pipeline import SeedResult, make_seeds
from facet_dagster.testing.scripted_model import ScriptedModel

R = TypeVar("R", bound=StoredRecord)


class DictStore:
    """Records in a dictionary; a second put of a key replaces nothing."""

    def __init__(self) -> None:
        self.records: dict[tuple[type[StoredRecord], str, str], StoredRecord] = {}

    def put(self, record: StoredRecord) -> bool:
        return self.records.setdefault((type(record), record.group, record.key), record) is record

    def get(self, kind: type[R], group: str, key: str) -> R | None:
        found = self.records.get((kind, group, key))
        return found if isinstance(found, kind) else None

    def rows(self, kind: type[R], group: str | None = None) -> list[R]:
        found = [r for r in self.records.values() if isinstance(r, kind) and group in (None, r.group)]
        return sorted(found, key=lambda r: (r.group, r.key))

    def keys(self, kind: type[StoredRecord], group: str | None = None) -> list[str]:
        raise NotImplementedError

    def put_all(self, records: Sequence[StoredRecord]) -> int:
        return sum(self.put(record) for record in records)

    def get_all(self, kind: type[R], group: str, keys: Iterable[str]) -> dict[str, R]:
        raise NotImplementedError

    def put_blob(self, data: bytes) -> str:
        raise NotImplementedError

    def get_blob(self, digest: str) -> bytes:
        raise NotImplementedError


class LengthEmbedder:
    """Texts of like length are alike."""

    async def embed(self, texts: Sequence[str], came: Came | None = None) -> NDArray[np.float32]:
        angles = np.radians([len(text) % 90 for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


SKILLS = [
    Skill(
        skill_id=f"skill{n}",
        source="sample",
        path=str(n),
        content_hash=str(n) * 64,
        name=f"n{n}",
        description="d",
        body="b",
    )
    for n in range(6)
]


def drafts(request: ChatRequest) -> dict[str, Any]:
    size = 7 * int(request.call.subject.removeprefix("skill"))
    return {
        "hypotheses": [
            {"context": "c" * (size + 1), "goal": goal, "initial_state": "i", "final_state": "f"}
            for goal in ("g", "hh")
        ]
    }


def verdict(request: ChatRequest) -> dict[str, Any]:
    keep = int(request.call.subject, 16) % 3 != 0
    fours = dict.fromkeys(("relevant", "complementary", "non_redundant", "executable"), keep)
    return {**fours, "reason": "because", "title": "Three plain words" if keep else ""}


def honest() -> ScriptedModel:
    return ScriptedModel({"seeds.hypotheses": drafts, "seeds.judge": verdict})


async def make(model: ScriptedModel, store: DictStore, **settings: Any) -> SeedResult:
    progress = settings.pop("progress", None)
    terms = SeedingTerms.model_validate({"max_seeds": 3, **settings})
    return await make_seeds(SKILLS, Asker(model), LengthEmbedder(), store, terms=terms, progress=progress)


async def test_everything_made_is_stored_and_nothing_beyond_the_last_seed_is_judged() -> None:
    model, store, said = honest(), DictStore(), list[str]()
    result = await make(model, store, progress=said.append)
    assert len(result.seeds) == 3 and result.candidates[-1].kept
    assert len(result.hypotheses) == 12 and result.problems == []
    assert store.rows(Hypothesis) == sorted(result.hypotheses, key=lambda h: h.key)
    assert store.rows(Candidate) == sorted(result.candidates, key=lambda c: c.key)
    assert store.rows(ScenarioSeed) == sorted(result.seeds, key=lambda s: s.key)
    assert sum(r.call.station == "seeds.judge" for r in model.requests) == len(result.candidates)
    assert sum("kept" in line for line in said) == 3


@pytest.mark.parametrize("in_flight", [1, 2, 16])
async def test_the_result_does_not_depend_on_what_is_in_flight(in_flight: int) -> None:
    assert await make(honest(), DictStore(), in_flight=in_flight) == await make(honest(), DictStore(), in_flight=3)


async def test_a_second_run_asks_nothing_and_more_seeds_ask_only_for_the_rest() -> None:
    store = DictStore()
    first = await make(honest(), store)
    again = honest()
    assert await make(again, store) == first
    assert again.requests == []
    more = await make(again, store, max_seeds=4)
    assert more.seeds[:3] == first.seeds
    assert len(again.requests) == len(more.candidates) - len(first.candidates)


async def test_an_unusable_answer_costs_one_skill_only() -> None:
    def mostly(request: ChatRequest) -> dict[str, Any] | str:
        return "no idea" if request.call.subject == "skill2" else drafts(request)

    result = await make(ScriptedModel({"seeds.hypotheses": mostly, "seeds.judge": verdict}), DictStore())
    assert [(p.reason, p.evidence.partition(":")[0]) for p in result.problems] == [(Reason.ANSWER_UNUSABLE, "skill2")]
    assert {h.skill_id for h in result.hypotheses} == {s.skill_id for s in SKILLS} - {"skill2"}


@pytest.mark.parametrize("in_flight", [1, 2, 4])
async def test_a_call_that_never_answers_costs_one_skill_or_candidate_only(in_flight: int) -> None:
    first = (await make(honest(), DictStore())).candidates[0].candidate_id

    def silent(request: ChatRequest) -> dict[str, Any] | ModelUnavailable:
        return ModelUnavailable("timed out") if request.call.subject == first else verdict(request)

    result = await make(ScriptedModel({"seeds.hypotheses": drafts, "seeds.judge": silent}), DictStore())
    assert [p.evidence for p in result.problems] == [f"{first}: timed out"]
    assert len(result.seeds) == 3

    def mostly(request: ChatRequest) -> dict[str, Any] | ModelUnavailable:
        return ModelUnavailable("gone") if request.call.subject == "skill0" else drafts(request)

    model = ScriptedModel({"seeds.hypotheses": mostly, "seeds.judge": verdict})
    result = await make(model, DictStore(), in_flight=in_flight)
    assert [p.evidence for p in result.problems] == ["skill0: gone"]
    assert {h.skill_id for h in result.hypotheses} == {s.skill_id for s in SKILLS} - {"skill0"}
    assert len(result.seeds) == 3


MANY = [s.model_copy(update={"skill_id": f"skill{n}"}) for n, s in enumerate(SKILLS * 10)]


@pytest.mark.parametrize("in_flight", [1, 4, 16])
@pytest.mark.parametrize("trouble", [ModelRefused("filtered"), ModelUnavailable("timed out")])
async def test_a_resumed_run_forbears_what_the_first_one_did(
    in_flight: int, trouble: ModelRefused | ModelUnavailable
) -> None:
    def hypotheses(request: ChatRequest) -> dict[str, Any] | ModelRefused | ModelUnavailable:
        return trouble if int(request.call.subject.removeprefix("skill")) % 3 == 0 else drafts(request)

    def verdicts(request: ChatRequest) -> dict[str, Any] | ModelRefused | ModelUnavailable:
        return trouble if int(request.call.subject, 16) % 5 == 0 else verdict(request)

    store, terms = DictStore(), SeedingTerms(max_seeds=20, in_flight=in_flight)
    model = ScriptedModel({"seeds.hypotheses": hypotheses, "seeds.judge": verdicts})
    first = await make_seeds(MANY, Asker(model), LengthEmbedder(), store, terms=terms)
    asked = len(model.requests)
    assert len(first.problems) > 20
    assert await make_seeds(MANY, Asker(model), LengthEmbedder(), store, terms=terms) == first
    assert len(model.requests) - asked == len(first.problems)


@pytest.mark.parametrize("in_flight", [1, 2])
async def test_an_endpoint_that_is_gone_is_not_asked_for_every_skill(in_flight: int) -> None:
    model = ScriptedModel({"seeds.hypotheses": lambda _: ModelUnavailable("gone")})
    terms = SeedingTerms(in_flight=in_flight)
    with pytest.raises(ModelUnavailable):
        await make_seeds(MANY, Asker(model), LengthEmbedder(), DictStore(), terms=terms)
    assert len(model.requests) <= 4 + 2 * in_flight


async def test_a_run_killed_between_two_records_is_completed() -> None:
    store = DictStore()
    whole = await make(honest(), store)
    kept = next(c for c in whole.candidates if c.kept)
    del store.records[(Candidate, "all", kept.key)]
    del store.records[(Hypothesis, "all", "skill1-2")]
    again = honest()
    assert await make(again, store) == whole
    assert sorted(r.call.subject for r in again.requests) == sorted(["skill1", kept.candidate_id])


async def test_a_refusal_of_one_request_harms_nothing_else() -> None:
    def mostly(request: ChatRequest) -> dict[str, Any] | ModelRefused:
        return ModelRefused("too long") if request.call.subject == "skill2" else drafts(request)

    result = await make(ScriptedModel({"seeds.hypotheses": mostly, "seeds.judge": verdict}), DictStore())
    assert [p.evidence for p in result.problems] == ["skill2: too long"]
    assert len(result.seeds) == 3


@pytest.mark.parametrize("in_flight", [1, 4, 16])
async def test_however_many_neighbours_are_refused_for_their_text_nothing_else_is_lost(in_flight: int) -> None:
    def hypotheses(request: ChatRequest) -> dict[str, Any] | TextRefused:
        number = int(request.call.subject.removeprefix("skill"))
        return TextRefused("filtered") if 1 <= number <= 30 else drafts(request)

    store, terms = DictStore(), SeedingTerms(max_seeds=5, in_flight=in_flight)
    for _ in range(2):
        model = ScriptedModel({"seeds.hypotheses": hypotheses, "seeds.judge": verdict})
        result = await make_seeds(MANY, Asker(model), LengthEmbedder(), store, terms=terms)
        assert [p.evidence for p in result.problems] == [f"skill{n}: filtered" for n in range(1, 31)]
        assert len({h.skill_id for h in result.hypotheses}) == len(MANY) - 30


async def test_an_endpoint_that_refuses_everything_is_trouble() -> None:
    model = ScriptedModel({"seeds.hypotheses": lambda _: ModelRefused("wrong key")})
    with pytest.raises(ModelRefused):
        await make_seeds(MANY, Asker(model), LengthEmbedder(), DictStore(), terms=SeedingTerms(in_flight=2))
    assert len(model.requests) <= 4 + 2 * 2
    with pytest.raises(ModelRefused):
        await make_seeds(MANY[:2], Asker(model), LengthEmbedder(), DictStore(), terms=SeedingTerms())


async def test_a_spent_budget_stops_at_once_and_keeps_what_was_made() -> None:
    def few(request: ChatRequest) -> dict[str, Any] | BudgetSpent:
        return drafts(request) if request.call.subject in ("skill0", "skill1") else BudgetSpent("spent")

    store, model = DictStore(), ScriptedModel({"seeds.hypotheses": few})
    with pytest.raises(BudgetSpent):
        await make(model, store, in_flight=1)
    assert {h.skill_id for h in store.rows(Hypothesis)} == {"skill0", "skill1"}
    assert len(model.requests) == 3


async def test_no_skill_is_in_more_seeds_than_allowed() -> None:
    def yes(request: ChatRequest) -> dict[str, Any]:
        fours = dict.fromkeys(("relevant", "complementary", "non_redundant", "executable"), True)
        return {**fours, "reason": "because", "title": "Three plain words"}

    model = ScriptedModel({"seeds.hypotheses": drafts, "seeds.judge": yes})
    result = await make(model, DictStore(), max_seeds=99, seeds_per_skill=1)
    used = [skill for seed in result.seeds for skill in seed.skill_ids]
    assert len(used) == len(set(used)) and result.seeds


async def test_two_combinations_never_share_a_seed_id() -> None:
    store = DictStore()
    first = await make(honest(), store, max_seeds=1)
    seed, candidate = first.seeds[0], next(c for c in first.candidates if c.kept)
    taken = DictStore()
    taken.put(seed.model_copy(update={"hypothesis_ids": ("other-1", "other-2"), "skill_ids": ("other", "another")}))
    again = await make(honest(), taken, max_seeds=1)
    assert again.seeds[0].seed_id == f"{seed.seed_id}{candidate.candidate_id[4]}"
    assert again.seeds[0].hypothesis_ids == seed.hypothesis_ids
    assert len(taken.rows(ScenarioSeed)) == 2
    assert await make(honest(), taken, max_seeds=1) == again


async def test_adding_skills_keeps_the_ids_of_candidates_and_seeds() -> None:
    store = DictStore()
    first = await make_seeds(SKILLS[:4], Asker(honest()), LengthEmbedder(), store, terms=SeedingTerms(max_seeds=3))
    await make(honest(), store, max_seeds=9)
    assert {c.candidate_id for c in first.candidates} <= {c.candidate_id for c in store.rows(Candidate)}
    assert {s.seed_id: s for s in first.seeds}.items() <= {s.seed_id: s for s in store.rows(ScenarioSeed)}.items()
    sets = [c.skill_ids for c in store.rows(Candidate)]
    assert len(sets) == len(set(sets))  # no set of skills was judged twice


async def test_progress_over_many_is_not_a_line_each() -> None:
    many = [s.model_copy(update={"skill_id": f"skill{n}"}) for n, s in enumerate(SKILLS * 100)]
    said = list[str]()
    await make_seeds(
        many, Asker(honest()), LengthEmbedder(), DictStore(), terms=SeedingTerms(max_seeds=1), progress=said.append
    )
    assert 50 <= sum("skills asked" in line for line in said) <= 150


async def test_categories_are_passed_on() -> None:
    terms = SeedingTerms(max_seeds=3)
    result = await make_seeds(
        SKILLS, Asker(honest()), LengthEmbedder(), DictStore(), terms=terms, categories={"skill0": "tables"}
    )
    assert result.categories == {"skill0": "tables"}
