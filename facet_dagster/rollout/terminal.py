"""A terminal inside a container: keys in, what the screen shows out. Driven by tmux over one stream (tmux.py).

Everything runs as the agent's user. Prompt, size and host name are fixed, so that the same keys give the same
screen. Does not belong here: what the keys mean, or when a trial ends.
"""

import asyncio
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from facet_dagster.errors import InfrastructureError
from facet_dagster.ports import Container, Stream
from facet_dagster.records.container import HOSTNAME, Command
from facet_dagster.rollout.tmux import Answer, ControlClient, StreamEnded, paste

COLUMNS, ROWS = 160, 40
HISTORY_LINES = 100_000  # a flood of output stays below the memory that a container may use
OBSERVATION_BYTES = 10_000  # as Terminus-2 shows: half from the head, half from the tail
CONTEXT_LINES = 5  # above the cursor; where they have changed, something was cleared or painted over
CAPTURES = 20  # tries to look between two lines that are printed
ENGINE_S = 60.0  # for tmux itself, beside the wait that was asked for
PROMPT_S = 120.0  # for the session and its first prompt

# Sent as a key when they are the whole of the keystrokes; everything else is typed as it is.
KEYS = re.compile(r"C-[a-z]|Escape|Enter|Tab|BSpace|Up|Down|Left|Right|PageUp|PageDown")

# Told first is when the container's first process started: another moment means that it was started again. Nothing
# is said before something is read, since the engine's client loses what comes before it listens.
_TOLD = 'read -r _; read -r stat < /proc/1/stat; read -r -a first <<< "${stat##*) }"; echo "born ${first[19]}"'
_TMUX = "export LC_ALL=C.UTF-8 TERM=screen; exec tmux -u -L facet -f /dev/null -C"
# A kind of terminal that cannot forget its history: what `clear` takes from the screen is still shown to the agent.
_TERMINAL = "screen-256color"
# The terminal's output is not repeated to the client, and the client has no say in the window's size.
_FLAGS = "no-output,ignore-size"
# The shell forgets the variable after its first prompt: later prompts and the agent's own settings are left alone.
_PROMPT = rf"PS1='agent@{HOSTNAME}:\w\$ '; unset PROMPT_COMMAND"
_START = f"""{_TOLD}
{_TMUX} start-server \\; set-option -g history-limit {HISTORY_LINES} \\; set-option -g status off \\; \\
  set-option -g default-terminal {_TERMINAL} \\; \\
  new-session -s main -x {COLUMNS} -y {ROWS} -f {_FLAGS} -e {shlex.quote(f"PROMPT_COMMAND={_PROMPT}")} \\
  -e "USER=$(id -un)" -e "LOGNAME=$(id -un)" -e SHELL=/bin/bash -e LC_ALL= 'bash --login'
"""
_AGAIN = f"{_TOLD}\n{_TMUX} attach-session -E -t main -f {_FLAGS}\n"
_IS_STOPPED = "grep -qsE '^[0-9]+ \\(tmux: server\\) T' /proc/[0-9]*/stat"
# Lines are counted from the beginning of the history; tmux addresses them from the screen's first.
_STATE = "display-message -p -t main '#{history_size} #{cursor_y} #{alternate_on}'"
_STATE_LATE = _STATE.replace("#{", "##{")  # expanded when it is run (tmux.ControlClient.ask_at_once)
_CAPTURE = "capture-pane -p -J -t main"
_CONTEXT = f"{_CAPTURE} -S #{{e|-:#{{cursor_y}},{CONTEXT_LINES}}} -E #{{e|-:#{{cursor_y}},1}}"
_VISIBLE = "0"
_PROMPTS = frozenset("$#")  # how the prompt of a user, and of root, ends


class TerminalDied(Exception):
    """The session is gone (the agent left its shell, or killed it). Never leaves the trial."""


@dataclass(frozen=True)
class _State:
    """Where the cursor stands: lines of history, lines of the screen above it, and which screen is shown."""

    history: int
    cursor: int
    alternate: bool

    @property
    def last(self) -> int:
        return self.history + self.cursor

    @classmethod
    def of(cls, said: str) -> "_State":
        try:
            history, cursor, alternate = (int(part) for part in said.split())
        except ValueError as error:
            raise TerminalDied(f"the terminal cannot be read: {said[:200]}") from error
        return cls(history, cursor, alternate == 1)


@dataclass(frozen=True)
class _Capture:
    last: int  # line of the cursor
    full_screen: bool  # a program draws on the alternate screen
    anchor: int  # where the next look starts
    size: int  # bytes of the whole text, of which `text` may be head and tail
    context: str  # what stands between the anchor and the cursor
    text: str


class Terminal:
    """One tmux session in one container."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._stream: Stream | None = None
        self._client: ControlClient | None = None
        self._anchor = 0
        self._context = ""
        self._born = ""

    async def start(self) -> str:
        """Open the session and return the first screen. Raises InfrastructureError when it does not come up."""
        try:
            async with asyncio.timeout(PROMPT_S):
                self._born = await self._attach(_START)
                while _PROMPTS.isdisjoint((await self._ask(["run-shell -d 0.01", f"{_CAPTURE} -S 0"]))[1].text):
                    pass
            return await self._look([], 0.0, heading=False)
        except TimeoutError as error:
            raise InfrastructureError("the terminal does not start: no prompt") from error
        except (TerminalDied, StreamEnded) as died:
            raise InfrastructureError(f"the terminal does not start: {died}") from died

    async def exchange(self, commands: Sequence[tuple[str, float]] = ()) -> str:
        """Type each of the keystrokes and wait the seconds that stand beside it; what was printed since the last look.

        Where that does not continue what was seen, the visible screen. At most about 10,000 bytes. Raises TerminalDied
        when there is no session, InfrastructureError when there may be one that does not answer.
        """
        steps = [step for keystrokes, wait_s in commands for step in (*_typed(keystrokes), *_waited(wait_s))]
        return await self._look(steps, sum(wait_s for _, wait_s in commands), heading=True)

    async def _look(self, steps: Sequence[str], waits_s: float, *, heading: bool) -> str:
        if steps:
            await self._ask(steps, waits_s)
        capture = await self._capture(f"#{{?alternate_on,0,#{{e|-:{self._anchor},#{{history_size}}}}}}")
        seen = self._context
        if capture.full_screen:
            text, size, title = capture.text, capture.size, "Current terminal screen"
        else:
            if capture.last >= self._anchor and capture.text.startswith(seen):
                text = capture.text[len(seen) :].removeprefix("\n") if seen else capture.text
                size, title = capture.size - len(seen.encode()), "New terminal output"
            else:
                capture = await self._capture(_VISIBLE)
                text, size, title = capture.text, capture.size, "Current terminal screen"
            self._anchor, self._context = capture.anchor, capture.context
        shown = cut(text.rstrip(), size)
        return f"{title}:\n{shown}" if heading else shown

    async def _capture(self, first: str) -> _Capture:
        """What stands from a line on, which may be a format, and what is above the cursor."""
        commands = [_STATE, f"{_CAPTURE} -S {first}", _CONTEXT, _STATE_LATE]
        # What is printed meanwhile moves the lines, so the addresses are right if the cursor has not moved since.
        for _ in range(CAPTURES):
            said, text, context, now = await self._ask(commands, at_once=True)
            if said.text == now.text:
                break
        state = _State.of(now.text)
        anchor = max(0, state.last - CONTEXT_LINES)
        return _Capture(state.last, state.alternate, anchor, text.size, context.text if state.last else "", text.text)

    async def _ask(self, commands: Sequence[str], waits_s: float = 0.0, *, at_once: bool = False) -> list[Answer]:
        """What tmux answers. A client that is gone is replaced, once: it may be, without the session."""
        try:
            async with asyncio.timeout(waits_s + ENGINE_S):
                try:
                    answers = await self._put(commands, at_once)
                except StreamEnded as ended:
                    await self._open_again()
                    done = [] if at_once else ended.answers
                    answers = [*done, *await self._put(commands[len(done) :], at_once)]
        except StreamEnded as ended:
            raise TerminalDied(str(ended)) from ended
        except TimeoutError as error:
            raise await self._stalled() from error
        for answer in answers:
            if not answer.ok:
                raise TerminalDied(answer.text[-300:])
        return answers

    async def _put(self, commands: Sequence[str], at_once: bool) -> list[Answer]:
        assert self._client is not None, "start comes first"
        return await (self._client.ask_at_once(commands, "main") if at_once else self._client.ask(commands))

    async def _attach(self, script: str) -> str:
        """Start a client; when the container was started. Raises StreamEnded where there is none."""
        self._stream = await self._container.attach(script)
        self._client = ControlClient(self._stream)
        await self._stream.send(b"\n")
        word, _, born = (said := await self._client.line()).partition(" ")
        if word != "born":
            raise StreamEnded(said)
        return born

    async def _open_again(self) -> None:
        assert self._stream is not None
        if self._stream.limit is not None:
            raise TerminalDied(f"ended by the {self._stream.limit} limit")
        await self._stream.close()
        if await self._attach(_AGAIN) != self._born:
            raise InfrastructureError("the container was stopped while a trial went on in it")

    async def _stalled(self) -> Exception:
        """Why tmux does not answer: its agent has stopped it, or the host is too slow."""
        if (await self._container.run(Command(script=_IS_STOPPED))).ok:
            return TerminalDied("the terminal was stopped")
        return InfrastructureError(f"the terminal did not answer within {ENGINE_S:g} s")


def _typed(keystrokes: str) -> Iterator[str]:
    """Commands that type the keys; each fails when there is no session to take them."""
    if keystrokes == "\n" or KEYS.fullmatch(keystrokes):
        yield f"send-keys -t main -- {keystrokes.strip() or 'Enter'}"
    else:
        yield from paste(keystrokes, "main")


def _waited(seconds: float) -> Iterator[str]:
    if seconds > 0:
        yield f"run-shell -d {seconds:.3f}"


def cut(text: str, size: int, limit: int = OBSERVATION_BYTES) -> str:
    """At most `limit` bytes of text: head and tail, with a line between them that says how much is missing.

    `size` is the length in bytes of the whole, of which `text` may already be only head and tail.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    half = limit // 2
    head, tail = data[:half].decode("utf-8", "ignore"), data[-half:].decode("utf-8", "ignore")
    missing = max(size, len(data)) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[... {missing} bytes left out ...]\n{tail}"
