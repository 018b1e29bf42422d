"""The judge: four questions, a reason, and the seed of what is kept."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.prompts.ask import Asker
from facet_dagster.records.call import Role
from facet_dagster.records.outcome import Reason, Rejected
from facet_dagster.records.seed import Hypothesis, ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.seeds.judge import Judgement, judge, longer_id, seed_id_of
from facet_dagster.seeds.retrieval import Proposal
from facet_dagster.testing.scripted_model import ScriptedModel


def skill(skill_id: str) -> Skill:
    return Skill(
        skill_id=skill_id,
        source="sample",
        path=skill_id,
        content_hash="0" * 64,
        name=skill_id,
        description=f"what {skill_id} is for",
        body="BODY",
    )


def hypothesis(skill_id: str) -> Hypothesis:
    return Hypothesis(
        hypothesis_id=f"{skill_id}-1",
        skill_id=skill_id,
        context="c",
        goal=f"goal of {skill_id}",
        initial_state="i",
        final_state="f",
    )


PROPOSAL = Proposal((hypothesis("logs"), hypothesis("sql")), 0.5)
SKILLS = {"logs": skill("logs"), "sql": skill("sql")}


def verdict(**changes: Any) -> dict[str, Any]:
    yes = {"relevant": True, "complementary": True, "non_redundant": True, "executable": True}
    return {**yes, "reason": "logs feed a table", "title": "Load fault logs into tables", **changes}


async def test_what_is_kept_becomes_a_seed() -> None:
    model = ScriptedModel({"seeds.judge": [verdict()]})
    judgement = await judge(PROPOSAL, SKILLS, Asker(model))
    assert isinstance(judgement, Judgement) and judgement.seed
    assert judgement.candidate.kept
    assert judgement.seed.seed_id == f"load-fault-logs-into-tables-{PROPOSAL.candidate_id[:4]}"
    assert judgement.seed.hypothesis_ids == ("logs-1", "sql-1")
    request = model.requests[0]
    assert (request.role, request.call.subject) == (Role.JUDGE, PROPOSAL.candidate_id)
    assert "goal of sql" in request.messages[0].content and "BODY" not in request.messages[0].content


@pytest.mark.parametrize("question", ["relevant", "complementary", "non_redundant", "executable"])
async def test_one_no_is_enough_and_is_named(question: str) -> None:
    model = ScriptedModel({"seeds.judge": [verdict(**{question: False}, title="", reason="no link")]})
    judgement = await judge(PROPOSAL, SKILLS, Asker(model))
    assert isinstance(judgement, Judgement)
    assert judgement.seed is None and not judgement.candidate.kept
    assert judgement.candidate.rationale == f"not {question}: no link"


async def test_a_kept_candidate_without_a_fitting_title_is_unusable() -> None:
    model = ScriptedModel({"seeds.judge": [verdict(title="Logs"), verdict(title="")]})
    rejected = await judge(PROPOSAL, SKILLS, Asker(model))
    assert isinstance(rejected, Rejected) and rejected.reason is Reason.ANSWER_UNUSABLE


@given(st.text(max_size=80), st.from_regex(r"[0-9a-f]{12}", fullmatch=True))
def test_any_title_gives_a_valid_partition_key(title: str, candidate_id: str) -> None:
    seed_id = seed_id_of(title, candidate_id)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", seed_id) and len(seed_id) <= 53
    assert seed_id_of(title, candidate_id) == seed_id


def test_an_id_grows_digit_by_digit_and_not_for_ever() -> None:
    seed = ScenarioSeed(seed_id="plain-words-0123", title="Plain words", skill_ids=(), hypothesis_ids=(), rationale="")
    ids = []
    for _ in range(8):
        seed = longer_id(seed, "0123456789ab")
        ids.append(seed.seed_id)
    assert ids[0] == "plain-words-01234" and ids[-1] == "plain-words-0123456789ab"
    with pytest.raises(ValueError, match="two seeds"):
        longer_id(seed, "0123456789ab")


@pytest.mark.parametrize(
    "title", ["Größe, Maß & Ümlaut!", "日本語 の 題", "x" * 90, "Merge -- a / b", "a" * 47 + " b c"]
)
def test_seed_ids_are_safe_as_keys(title: str) -> None:
    seed_id = seed_id_of(title, "0123456789ab")
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", seed_id)
    assert seed_id.endswith("-0123") and len(seed_id) <= 53
