"""The teacher at the terminal: asks the model for turns, sends their keys, shows it what the terminal printed.

Belongs here: the dialogue and when it ends. Containers, grading and what becomes of trouble: trial.py. What a turn
means: replies.py. How a dialogue that grows too long goes on: handover.py.
"""

import math
import time
from collections.abc import Awaitable, Callable

from facet_dagster.errors import ContextOverflow
from facet_dagster.ports import ChatModel
from facet_dagster.prompts.rendering import render
from facet_dagster.records.base import now
from facet_dagster.records.call import CallId, ChatRequest, Completion, Message, Role
from facet_dagster.records.rollout import Handover, StopReason, Turn, calls_of
from facet_dagster.rollout.handover import Helper, hand_over
from facet_dagster.rollout.limits import LONGEST_WAIT_S, TrialLimits
from facet_dagster.rollout.protocol import ParsedTurn
from facet_dagster.rollout.replies import PARSERS
from facet_dagster.rollout.terminal import COLUMNS, OBSERVATION_BYTES, ROWS, Terminal, TerminalDied

CostOf = Callable[[Completion], float]
Clock = Callable[[], float]
Keep = Callable[[Turn | Handover], Awaitable[None]]

OBSERVATION_TOKENS = OBSERVATION_BYTES // 2  # what one answer of the terminal may take of a context
ANSWER_TOKENS = 16_384  # the longest turn, where the context has room for it
CONFIRM = (
    "You say that the task is done. The tests will judge the state exactly as it is now. If you are sure, answer once "
    "more with task_complete true; if anything is open, go on working."
)
_PROMPTS = {"json": "rollout/teacher", "xml": "rollout/teacher_xml"}
_SHAPES = {"json": "one JSON object", "xml": "one <response>"}


def free(completion: Completion) -> float:
    """The price, in US dollars, of a call for which no price is known."""
    return 0.0


async def keep_nothing(_done: Turn | Handover) -> None:
    """Nobody wants to know what was done before the trial ends."""


class _Timed:
    """A model, and the seconds that passed before the endpoint took up the calls: others in flight, retries."""

    def __init__(self, inner: ChatModel, clock: Clock) -> None:
        self._inner = inner
        self._clock = clock
        self.queued_s = 0.0

    async def complete(self, request: ChatRequest) -> Completion:
        asked = self._clock()
        completion = await self._inner.complete(request)
        self.queued_s += max(0.0, self._clock() - asked - completion.seconds)
        return completion


class Agent:
    """One attempt at one task. `turns` and `handovers` hold what was done so far, also when `work` raises.

    `keep` is given each of them as soon as it is done.
    """

    def __init__(
        self,
        model: ChatModel,
        terminal: Terminal,
        *,
        call: CallId,
        settings: TrialLimits,
        basis: str = "",
        cost_of: CostOf = free,
        clock: Clock = time.monotonic,
        keep: Keep = keep_nothing,
    ) -> None:
        self._model = _Timed(model, clock)
        self._terminal = terminal
        self._call = call
        self._basis = basis
        self._settings = settings
        self._cost_of = cost_of
        self._clock = clock
        self._keep = keep
        self._deadline = math.inf  # the teacher's time begins with its first prompt
        self._said_done = False
        self._prompt_hash = ""
        self._messages: list[Message] = []
        self._used = 0  # tokens of the context after the last answer, by the endpoint's count
        self.turns: list[Turn] = []
        self.handovers: list[Handover] = []
        self.recorded = False

    @property
    def queued_s(self) -> float:
        """Seconds that calls have waited for their turn; they are not the teacher's."""
        return self._model.queued_s

    async def work(self, instruction: str) -> StopReason:
        """Work until an end is reached. Raises what the model and the container raise."""
        self._messages = [self._opening(instruction, await self._terminal.start())]
        self._deadline = self._clock() + self._settings.seconds
        while (stop := self._bound()) is None:
            completion = await self._answer()
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
        rendered = render(_PROMPTS[self._settings.replies], variables)
        self._prompt_hash = rendered.prompt_hash
        return Message(role="user", content=rendered.text)

    def _bound(self) -> StopReason | None:
        if len(self.turns) >= self._settings.turns:
            return StopReason.TURN_LIMIT
        if self._left() <= 0:
            return StopReason.TIME_LIMIT
        calls = calls_of(self.turns, self.handovers)
        if sum(call.prompt_tokens + call.completion_tokens for call in calls) >= self._settings.tokens:
            return StopReason.TOKEN_LIMIT
        if self._settings.usd is not None and sum(call.cost_usd for call in calls) >= self._settings.usd:
            return StopReason.COST_LIMIT
        return None

    def _left(self) -> float:
        """Seconds of the teacher's time."""
        return self._deadline + self.queued_s - self._clock()

    async def _answer(self) -> Completion:
        """The next turn, of this context or, where that is about to overflow, of the next."""
        # Decided by counts of earlier answers alone: a trial that is repeated from the store, where the terminal may
        # show more or less than before, comes to the same decision and so to the same calls.
        begun = len(self._messages) > _HANDED_OVER
        if begun and self._room() < self._settings.handover_tokens:
            await self._hand_over()
        try:
            return await self._ask()
        except ContextOverflow:
            if not begun or len(self._messages) <= _HANDED_OVER:
                raise
            await self._hand_over()
            return await self._ask()

    def _room(self) -> int:
        return self._settings.context_tokens - self._used - OBSERVATION_TOKENS

    async def _hand_over(self) -> None:
        opening, last = self._messages[0], self._messages[-1]
        helper = Helper(self._model, self._call_now(), self._settings.handover_tokens, self._cost_of, self._basis)
        text = await hand_over(self._messages, self.turns, helper)
        self.recorded = self.recorded or helper.recorded
        handover = Handover(
            context=len(self.handovers) + 1, turn=len(self.turns) + 1, text=text, calls=tuple(helper.calls)
        )
        self.handovers.append(handover)
        self._messages = [opening, Message(role="assistant", content=text), last]
        self._used = 0
        await self._keep(handover)

    def _call_now(self) -> CallId:
        return self._call.model_copy(update={"turn": len(self.turns) + 1})

    async def _ask(self) -> Completion:
        request = ChatRequest(
            call=self._call_now(),
            role=Role.TEACHER,
            messages=tuple(self._messages),
            prompt_hash=self._prompt_hash,
            max_tokens=max(1, min(ANSWER_TOKENS, self._room())),
            token_details=self._settings.token_details,
            basis=self._basis,
        )
        completion = await self._model.complete(request)
        self.recorded = self.recorded or completion.recorded
        self._used = completion.prompt_tokens + completion.completion_tokens
        return completion

    async def _take(self, completion: Completion) -> StopReason | None:
        """Do what the turn says and keep it, whatever happens on the way."""
        at, started = now(), time.perf_counter()
        prompt = self._messages[-1].content
        parsed = PARSERS[self._settings.replies](completion.text, cut_off=completion.finish_reason == "length")
        waits = self._waits(parsed)
        observation, stop = "", None
        try:
            observation, stop = await self._act(parsed, waits, completion.finish_reason)
        finally:
            turn = Turn(
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
                warnings=parsed.warnings,
                finish_reason=completion.finish_reason,
                context=len(self.handovers),
                overhead_s=max(0.0, time.perf_counter() - started - sum(waits)),
                prompt_token_ids=completion.prompt_token_ids,
                completion_token_ids=completion.completion_token_ids,
                logprobs=completion.logprobs,
            )
            self.turns.append(turn)
        await self._keep(turn)
        self._messages.append(Message(role="assistant", content=completion.text))
        self._messages.append(Message(role="user", content=observation, observed=True))
        return stop

    async def _act(self, parsed: ParsedTurn, waits: list[float], finish_reason: str) -> tuple[str, StopReason | None]:
        """The text that answers a turn, and the end that it leads to, if any."""
        if parsed.error is not None:
            self._said_done = False
            shape = _SHAPES[self._settings.replies]
            return _not_understood(parsed.error, shape, cut_off=finish_reason == "length"), None
        typed = [(command.keystrokes, wait) for command, wait in zip(parsed.commands, waits, strict=True)]
        try:
            shown = await self._terminal.exchange(typed)
        except TerminalDied as died:
            return f"The terminal is gone: {died}", StopReason.TERMINAL_DIED
        confirmed = self._said_done and parsed.task_complete
        self._said_done = parsed.task_complete
        notes = [f"Note on your answer: {warning}." for warning in parsed.warnings]
        question = [CONFIRM] if parsed.task_complete and not confirmed else []
        return "\n\n".join([*notes, shown, *question]), StopReason.COMPLETED if confirmed else None

    def _waits(self, parsed: ParsedTurn) -> list[float]:
        """Seconds to wait after each command: as asked, within the caps and the time that is left."""
        left, waits = max(0.0, self._left()), []
        for command in parsed.commands:
            waits.append(min(command.duration, self._settings.wait_cap_s, LONGEST_WAIT_S, left))
            left -= waits[-1]
        return waits


_HANDED_OVER = 3  # messages of a context that has just begun: opening, hand-over, what the terminal shows


def _not_understood(error: str, shape: str, *, cut_off: bool) -> str:
    hint = " It was cut off at the length limit: do less in one turn." if cut_off else ""
    return f"Your answer was not understood, so no key was sent: {error}.{hint}\nAnswer again with {shape}."
