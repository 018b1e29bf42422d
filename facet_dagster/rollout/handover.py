"""Handing a dialogue that is about to overflow over to a new context: summary, questions, answers.

The teacher sums up what it did; then, with nothing but the task and that summary before it, asks what it would have to
know; then answers out of the old dialogue. Where even these calls do not fit, its own last plans must do.
"""

from collections.abc import Callable, Sequence

from facet_dagster.errors import ContextOverflow
from facet_dagster.ports import ChatModel
from facet_dagster.prompts.rendering import render
from facet_dagster.records.base import now
from facet_dagster.records.call import CallId, ChatRequest, Completion, Message, Role
from facet_dagster.records.rollout import HelperCall, Turn

LONGEST_ANSWER = 2_000  # tokens of one helper call
RECENT = 12  # messages that are left of a dialogue that did not fit
LAST_PLANS = 5


class Helper:
    """Makes the calls beside the dialogue; `calls` are those that were answered. `room` in tokens bounds them all."""

    def __init__(
        self, model: ChatModel, call: CallId, room: int, cost_of: Callable[[Completion], float], basis: str = ""
    ) -> None:
        self._model = model
        self._call = call
        self._basis = basis
        self._max_tokens = max(1, min(LONGEST_ANSWER, room // 4))
        self._cost_of = cost_of
        self.calls: list[HelperCall] = []
        self.recorded = False

    async def ask(self, name: str, before: Sequence[Message], variables: dict[str, str]) -> str:
        """Put the prompt `rollout/<name>` after the messages `before`; the answer. Raises what the model raises."""
        rendered = render(f"rollout/{name}", variables)
        request = ChatRequest(
            call=self._call.model_copy(update={"station": f"rollout.{name}"}),
            role=Role.TEACHER,
            messages=(*before, Message(role="user", content=rendered.text)),
            prompt_hash=rendered.prompt_hash,
            max_tokens=self._max_tokens,
            basis=self._basis,
        )
        at = now()
        completion = await self._model.complete(request)
        self.recorded = self.recorded or completion.recorded
        self.calls.append(
            HelperCall(
                name=name,
                prompt=rendered.text,
                raw=completion.text,
                prompt_tokens=completion.prompt_tokens,
                completion_tokens=completion.completion_tokens,
                cost_usd=self._cost_of(completion),
                at=at,
            )
        )
        return completion.text


async def hand_over(messages: Sequence[Message], turns: Sequence[Turn], helper: Helper) -> str:
    """What the new context begins with beside the opening prompt. Raises what the model raises, but no overflow."""
    recent = [messages[0], *messages[1:][-RECENT:]]
    for history in (messages, recent):
        try:
            return await _told(history, helper)
        except ContextOverflow:
            continue
    plans = [turn.plan for turn in turns if turn.plan][-LAST_PLANS:]
    return render("rollout/handover", {"summary": "\n".join(plans), "questions": "", "answers": ""}).text


async def _told(messages: Sequence[Message], helper: Helper) -> str:
    # What the terminal showed last stands in the new context as it is, so it is left out here.
    history = messages[:-1]
    summary = await helper.ask("summary", history, {})
    questions = await helper.ask("questions", (), {"task": messages[0].content, "summary": summary})
    answers = await helper.ask("answers", history, {"summary": summary, "questions": questions})
    return render("rollout/handover", {"summary": summary, "questions": questions, "answers": answers}).text
