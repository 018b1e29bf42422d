"""The one way to ask a model for a structured answer: render, call, look, read, correct once.

Dialogue: the opening prompt; up to `looks` turns in which the author looks into a container with read-only
commands; the answer; one corrective turn where it does not fit. An answer that still does not fit, or that
says `infeasible`, is a rejection of the component (a value); trouble of the endpoint is an exception.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from facet_dagster.ports import ChatModel
from facet_dagster.prompts.parse import Misfit, find_object, fit
from facet_dagster.prompts.rendering import Rendered, quoted, render
from facet_dagster.records.base import digest_of
from facet_dagster.records.call import CallId, ChatRequest, Message, Role
from facet_dagster.records.container import CommandResult
from facet_dagster.records.outcome import Component, Reason, Rejected

A = TypeVar("A", bound=BaseModel)

Look = Callable[[str], Awaitable[CommandResult]]
COMMANDS_PER_LOOK = 8
LOOK_OUTPUT = 3_000  # characters shown per command
LOOK_TOTAL = 8_000  # characters shown of all commands of one look


@dataclass(frozen=True)
class Question(Generic[A]):
    """What to ask: prompt and variables, the record that the answer must fit, who asks and why.

    `check` returns what is wrong with a well-formed answer (empty: nothing); `look` runs one command in
    the container that the author may look into, for at most `looks` turns.
    """

    prompt: str
    variables: Mapping[str, Any]
    answer: type[A]
    call: CallId
    component: Component
    role: Role = Role.AUTHOR
    check: Callable[[A], Sequence[str]] | None = None
    look: Look | None = None
    looks: int = 2
    may_refuse: bool = False
    temperature: float = 0.7


class Asker:
    """Asks questions of one model; holds no state between questions."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def ask(self, question: Question[A]) -> A | Rejected:
        """The answer, or the rejection of the component. Raises what ChatModel raises."""
        rendered = render(question.prompt, question.variables)
        contract = _contract(question)
        prompt_hash = digest_of(rendered.prompt_hash + contract.prompt_hash)
        messages = [Message(role="user", content=f"{rendered.text}\n{contract.text}")]
        looks_left = question.looks if question.look else 0
        corrected = False
        turn = 0
        while True:
            text = await self._complete(question, prompt_hash, messages, turn)
            turn += 1
            messages.append(Message(role="assistant", content=text))
            try:
                value = find_object(text)
                if set(value) == {"look"} and question.look and looks_left > 0:
                    looks_left -= 1
                    messages.append(await _looked(question.look, value["look"], looks_left))
                    continue
                if question.may_refuse and set(value) == {"infeasible"}:
                    return _rejected(question, Reason.INFEASIBLE, str(value["infeasible"]))
                return _checked(question, fit(value, question.answer))
            except Misfit as misfit:
                if corrected:
                    return _rejected(question, Reason.ANSWER_UNUSABLE, f"{question.call.station}: {misfit}")
                corrected = True
                messages.append(Message(role="user", content=_correction(str(misfit))))

    async def _complete(self, question: Question[A], prompt_hash: str, messages: Sequence[Message], turn: int) -> str:
        request = ChatRequest(
            call=question.call.model_copy(update={"turn": turn}),
            role=question.role,
            messages=tuple(messages),
            prompt_hash=prompt_hash,
            # An author who may look or refuse answers in one of several shapes, so no single schema is sent.
            answer_schema=None if question.look or question.may_refuse else _schema(question.answer),
            temperature=question.temperature,
        )
        return (await self._model.complete(request)).text


def _checked(question: Question[A], answer: A) -> A:
    problems = list(question.check(answer)) if question.check else []
    if problems:
        raise Misfit("; ".join(problems[:10]))
    return answer


def _rejected(question: Question[A], reason: Reason, evidence: str) -> Rejected:
    return Rejected(component=question.component, reason=reason, evidence=evidence[:4_000])


async def _looked(look: Look, commands: Any, left: int) -> Message:
    """Run the commands that the author asked for; what they print is observed, not said."""
    if not isinstance(commands, list) or not commands or not all(isinstance(c, str) for c in commands):
        raise Misfit('"look" must be a list of shell commands (strings)')
    shown, room = [], LOOK_TOTAL
    for command in commands[:COMMANDS_PER_LOOK]:
        if room <= 0:
            shown.append(f"$ {command}\n[not run: the {LOOK_TOTAL} characters of this look are used up]")
            continue
        result = await look(command)
        status = f"cut short: {result.limit}" if result.limit else f"exit {result.exit_code}"
        shown.append(f"$ {command}\n[{status}]\n{quoted(result.output, 'output', min(LOOK_OUTPUT, room))}")
        room -= len(result.output)
    rest = f"You may look {left} more time(s)." if left else "Answer now."
    return Message(role="user", content="\n\n".join([*shown, rest]), observed=True)


def _correction(misfit: str) -> str:
    return f"That answer cannot be used: {misfit}\nSend the whole corrected answer as one JSON object.\n"


def _contract(question: Question[Any]) -> Rendered:
    """How to answer, appended to every prompt in the same words."""
    answer: type[BaseModel] = question.answer
    variables = {
        "schema": json.dumps(_schema(answer), ensure_ascii=False),
        "looks": question.looks if question.look else 0,
        "commands_per_look": COMMANDS_PER_LOOK,
        "look_output": LOOK_OUTPUT,
        "look_total": LOOK_TOTAL,
        "may_refuse": question.may_refuse,
    }
    return render("shared/contract", variables)


@cache
def _schema(kind: type[BaseModel]) -> dict[str, Any]:
    """JSON schema of the answer without what only people read; not to be changed, since all share it."""
    cleaned: dict[str, Any] = _clean(kind.model_json_schema())
    return cleaned


def _clean(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            key: _clean_properties(value) if key == "properties" else _clean(value)
            for key, value in node.items()
            if key not in {"title", "default"} and not (key == "description" and "properties" in node)
        }
    if isinstance(node, list):
        return [_clean(item) for item in node]
    return node


def _clean_properties(properties: dict[str, Any]) -> dict[str, Any]:
    """Property names are data (a field may be called `title`); only bookkeeping fields are dropped."""
    return {name: _clean(value) for name, value in properties.items() if name not in {"schema_version", "kind"}}
