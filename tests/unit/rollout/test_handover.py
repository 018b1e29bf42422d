"""A dialogue that grows too long goes on in a new context; a repeated one makes the same calls."""

import json

import pytest

from facet_dagster.adapters.ledger import StoreLedger
from facet_dagster.adapters.metered_model import MeteredModel
from facet_dagster.errors import ContextOverflow
from facet_dagster.records.call import Completion, Role
from facet_dagster.records.container import Limits
from facet_dagster.records.rollout import StopReason
from facet_dagster.rollout.limits import TrialLimits
from facet_dagster.rollout.trial import begin, run_trial
from facet_dagster.testing.memory_store import MemoryStore
from tests.unit.rollout.conftest import PROMPT
from tests.unit.rollout.test_trial import ENVIRONMENT, INSTRUCTION, passed, say

ORIGINAL = PROMPT.removesuffix("$")
TURNS = [say("one\n"), say("two\n"), say("three\n"), say(done=True), say(done=True)]


class Talker:
    """Answers by turn; says that the context was filled by a third per turn since the last hand-over."""

    def __init__(self, overflow=frozenset()):
        self.requests = []
        self.overflow = overflow

    async def complete(self, request):
        self.requests.append(request)
        station, turn = request.call.station, request.call.turn
        if (station, turn, len(request.messages)) in self.overflow or (station, turn) in self.overflow:
            raise ContextOverflow("too long")
        text = json.dumps(TURNS[turn - 1]) if station == "rollout.teacher" else f"{station} of {turn}"
        return Completion(text=text, model="m", prompt_tokens=2_000 * len(request.messages), completion_tokens=10)


async def walk(sandbox, model, bundle="b" * 64, **settings):
    begun = begin("org/one", "seed-1", bundle, 0, model="m", run_id="run")
    return await run_trial(
        begun, INSTRUCTION, ENVIRONMENT, model=model, sandbox=sandbox, limits=Limits(),
        settings=TrialLimits(**{"context_tokens": 20_000, "handover_tokens": 8_000, **settings}), grade=passed,
    )  # fmt: skip


def stations(model):
    return [(r.call.station, r.call.turn) for r in model.requests]


async def test_the_dialogue_goes_on_from_what_was_handed_over(sandbox):
    model = Talker()
    trial = await walk(sandbox, model)
    assert trial.stop is StopReason.COMPLETED and len(trial.turns) == 5
    first = trial.handovers[0]
    assert [call.name for call in first.calls] == ["summary", "questions", "answers"] and first.turn == 4
    assert stations(model)[3:7] == [
        ("rollout.summary", 4), ("rollout.questions", 4), ("rollout.answers", 4), ("rollout.teacher", 4),
    ]  # fmt: skip
    opening, told, shown = model.requests[6].messages
    assert opening.content == trial.turns[0].prompt
    assert told.role == "assistant" and told.content == first.text and "rollout.answers of 4" in first.text
    assert shown.content == trial.turns[2].observation == trial.turns[3].prompt and shown.observed
    assert [turn.context for turn in trial.turns] == [0, 0, 0, 1, 1]
    assert len(model.requests[4].messages) == 1, "questions come from a fresh context"
    assert trial.tokens > sum(turn.prompt_tokens + turn.completion_tokens for turn in trial.turns)


async def test_without_need_nothing_is_handed_over(sandbox):
    model = Talker()
    trial = await walk(sandbox, model, context_tokens=128_000)
    assert trial.handovers == () and len(model.requests) == 5


async def test_an_endpoint_that_says_the_context_is_full_is_believed(sandbox):
    model = Talker(overflow={("rollout.teacher", 3, 5)})
    trial = await walk(sandbox, model, context_tokens=128_000)
    assert trial.stop is StopReason.COMPLETED and [h.turn for h in trial.handovers] == [3]


async def test_where_even_the_helpers_overflow_the_last_plans_must_do(sandbox):
    model = Talker(overflow={("rollout.teacher", 3, 5), ("rollout.summary", 3)})
    trial = await walk(sandbox, model, context_tokens=128_000)
    assert trial.stop is StopReason.COMPLETED and trial.handovers[0].calls == ()
    assert "p\np" in trial.handovers[0].text


async def test_a_context_that_is_too_small_for_the_task_is_trouble(sandbox):
    trial = await walk(sandbox, Talker(overflow={("rollout.teacher", 1)}))
    assert trial.stop is StopReason.MODEL_TROUBLE and "too long" in trial.trouble


@pytest.mark.parametrize("replay_shows", ["", "Permission denied " * 100])
async def test_a_repeated_trial_pays_nothing_whatever_the_terminal_shows(sandbox, container, replay_shows):
    store, names = MemoryStore(), {Role.TEACHER: "m"}
    first, second = Talker(), Talker()
    for talker in (first, second):
        ledger = StoreLedger(store, names=names, prices={}, budget_tokens=None, budget_usd=None, run_id="r")
        model = MeteredModel(talker, store=store, ledger=ledger, names=names, in_flight=1)
        trial = await walk(sandbox, model)
        assert trial.stop is StopReason.COMPLETED and len(trial.handovers) == 1
        container.typed.clear()  # a new container
        container.screen = lambda typed: f"{replay_shows if typed else ORIGINAL}$"
    assert len(first.requests) == 8 and second.requests == []


async def test_answers_to_another_bundle_are_asked_for_again(sandbox, container):
    store, names = MemoryStore(), {Role.TEACHER: "m"}
    ledger = StoreLedger(store, names=names, prices={}, budget_tokens=None, budget_usd=None, run_id="r")
    first, second = Talker(), Talker()
    for talker, bundle in ((first, "b" * 64), (second, "c" * 64)):
        model = MeteredModel(talker, store=store, ledger=ledger, names=names, in_flight=1)
        await walk(sandbox, model, bundle)
        container.typed.clear()
    assert stations(first) == stations(second) and len(second.requests) == 8
