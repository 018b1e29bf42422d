"""The teacher at the terminal: asks the model for turns, sends their keys, shows it what the terminal printed.

Belongs here: the dialogue and when it ends. Containers, grading and what becomes of trouble: trial.py.
"""

import time
from collections.abc import Callable

from facet_dagster.ports import ChatModel
from facet_dagster.prompts.library import render
from facet_dagster.records.base import now
from facet_dagster.records.call import CallId, ChatRequest, Completion, Message, Role
from facet_dagster.records.rollout import StopReason, Turn
from facet_dagster.rollout.limits import LONGEST_WAIT_S, TrialLimits
from facet_dagster.rollout.protocol import ParsedTurn, parse_turn
from facet_dagster.rollout.terminal import COLUMNS, OBSERVATION_BYTES, ROWS, Terminal, TerminalDied

CostOf = Callable[[Completion], float]
Clock = Callable[[], float]

CONFIRM = (
    "You say that the task is done. The tests will judge the state exactly as it is now. If you are sure, answer once "
    "more with task_complete true; if anything is open, go on working."
)


def free(completion: Completion) -> float:
    """The price, in US dollars, of a call for which no price is known."""
    return 0.0


class Agent:
    """One attempt at one task. `turns` holds what was done so far, also when `work` raises."""

    def __init__(
        self,
        model: ChatModel,
        terminal: Terminal,
        *,
        call: CallId,
        settings: TrialLimits,
        cost_of: CostOf = free,
        clock: Clock = time.monotonic,
    ) -> None:
        self._model = model
        self._terminal = terminal
        self._call = call
        self._settings = settings
        self._cost_of = cost_of
        self._clock = clock
        self._deadline = clock() + settings.seconds
        self._said_done = False
        self._prompt_hash = ""
        self._messages: list[Message] = []
        self.turns: list[Turn] = []
        self.recorded = False

    async def work(self, instruction: str) -> StopReason:
        """Work until an end is reached. Raises what the model and the container raise."""
        self._messages = [self._opening(instruction, await self._terminal.start())]
        while (stop := self._bound()) is None:
            completion = await self._ask()
            stop = await self._take(completion)
            if stop is not None:
                break
        return stop

    def _opening(self, instruction: str, screen: str) -> Message:
        variables = {
            "instruction": instruction,
            "screen": screen,
            "columns": COLUMNS,
            "rows": ROWS,
            "limit": f"{OBSERVATION_BYTES:,}",
            "turns": self._settings.turns,
            "wait_cap": f"{self._settings.wait_cap_s:g}",
        }
        rendered = render("rollout/teacher", variables)
        self._prompt_hash = rendered.prompt_hash
        return Message(role="user", content=rendered.text)

    def _bound(self) -> StopReason | None:
        if len(self.turns) >= self._settings.turns:
            return StopReason.TURN_LIMIT
        if self._clock() >= self._deadline:
            return StopReason.TIME_LIMIT
        if sum(turn.prompt_tokens + turn.completion_tokens for turn in self.turns) >= self._settings.tokens:
            return StopReason.TOKEN_LIMIT
        return None

    async def _ask(self) -> Completion:
        request = ChatRequest(
            call=self._call.model_copy(update={"turn": len(self.turns) + 1}),
            role=Role.TEACHER,
            messages=tuple(self._messages),
            prompt_hash=self._prompt_hash,
        )
        completion = await self._model.complete(request)
        self.recorded = self.recorded or completion.recorded
        return completion

    async def _take(self, completion: Completion) -> StopReason | None:
        """Do what the turn says and keep it, whatever happens on the way."""
        at = now()
        prompt = self._messages[-1].content
        parsed = parse_turn(completion.text)
        observation, stop = "", None
        try:
            observation, stop = await self._act(parsed, completion.finish_reason)
        finally:
            self.turns.append(
                Turn(
                    number=len(self.turns) + 1,
                    prompt=prompt,
                    raw=completion.text,
                    analysis=parsed.analysis,
                    plan=parsed.plan,
                    commands=parsed.commands,
                    task_complete=parsed.task_complete,
                    parse_error=parsed.error,
                    observation=observation,
                    prompt_tokens=completion.prompt_tokens,
                    completion_tokens=completion.completion_tokens,
                    cost_usd=self._cost_of(completion),
                    at=at,
                )
            )
        self._messages.append(Message(role="assistant", content=completion.text))
        self._messages.append(Message(role="user", content=observation, observed=True))
        return stop

    async def _act(self, parsed: ParsedTurn, finish_reason: str) -> tuple[str, StopReason | None]:
        """The text that answers a turn, and the end that it leads to, if any."""
        if parsed.error is not None:
            self._said_done = False
            return _not_understood(parsed.error, cut_off=finish_reason == "length"), None
        try:
            for command in parsed.commands:
                await self._terminal.send(command.keystrokes, self._wait(command.duration))
            shown = await self._terminal.observe()
        except TerminalDied as died:
            return f"The terminal is gone: {died}", StopReason.TERMINAL_DIED
        confirmed = self._said_done and parsed.task_complete
        self._said_done = parsed.task_complete
        notes = [f"Note on your answer: {warning}." for warning in parsed.warnings]
        question = [CONFIRM] if parsed.task_complete and not confirmed else []
        return "\n\n".join([*notes, shown, *question]), StopReason.COMPLETED if confirmed else None

    def _wait(self, duration: float) -> float:
        left = max(0.0, self._deadline - self._clock())
        return min(duration, self._settings.wait_cap_s, LONGEST_WAIT_S, left)


def _not_understood(error: str, *, cut_off: bool) -> str:
    hint = " It was cut off at the length limit: do less in one turn." if cut_off else ""
    return f"Your answer was not understood, so no key was sent: {error}.{hint}\nAnswer again with one JSON object."
