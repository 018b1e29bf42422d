"""A terminal inside a container: keys in, what the screen shows out. Driven by tmux through Container.run alone.

Everything runs as the agent's user. Prompt, size and host name are fixed, so that the same keys give the same
screen. Does not belong here: what the keys mean, or when a trial ends.
"""

import re
import shlex
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from facet_dagster.errors import InfrastructureError
from facet_dagster.ports import Container
from facet_dagster.records.container import HOSTNAME, Command, CommandResult

COLUMNS, ROWS = 160, 40
HISTORY_LINES = 100_000  # a flood of output stays below the memory that a container may use
OBSERVATION_BYTES = 10_000  # as Terminus-2 shows: half from the head, half from the tail
CONTEXT_LINES = 5  # above the cursor; where they have changed, something was cleared or painted over
CHUNK_BYTES = 48_000  # of keys per buffer
SCRIPT_BYTES = 110_000  # of one engine call: below the kernel's bound on one argument, with room for the look
ENGINE_S = 60.0  # for tmux itself, beside the wait that was asked for
PROMPT_S = 240  # for the first prompt: hundreds of terminals may start at once on a small host

# Sent as a key when they are the whole of the keystrokes; everything else is typed as it is.
KEYS = re.compile(r"C-[a-z]|Escape|Enter|Tab|BSpace|Up|Down|Left|Right|PageUp|PageDown")

_TMUX = "tmux -u -L facet -f /dev/null"
# The shell forgets the variable after its first prompt: later prompts and the agent's own settings are left alone.
_PROMPT = rf"PS1='agent@{HOSTNAME}:\w\$ '; unset PROMPT_COMMAND"
_START = f"""
prompt={shlex.quote(_PROMPT)}
export LC_ALL=C.UTF-8 TERM=screen
{_TMUX} start-server \\; set-option -g history-limit {HISTORY_LINES} \\; set-option -g status off \\; \\
  new-session -d -s main -x {COLUMNS} -y {ROWS} -e "PROMPT_COMMAND=$prompt" \\
  -e "USER=$(id -un)" -e "LOGNAME=$(id -un)" -e SHELL=/bin/bash -e LC_ALL= 'bash --login' || exit
SECONDS=0
while ((SECONDS < {PROMPT_S})); do
  seen=$({_TMUX} capture-pane -p -t main)
  [[ $seen == *[$'$#']* ]] && break
  sleep 0.02
done
[[ $seen == *[$'$#']* ]] || {{ echo 'no prompt'; exit 1; }}
"""
_BORN = 'read -r stat < /proc/1/stat; read -r -a first <<< "${stat##*) }"; born=${first[19]}'
# Lines are counted from the beginning of the history. Prints "last alternate anchor size born", the context (the lines
# from anchor to just above the cursor), a separator, and what stands from line $SINCE on, or the visible screen where
# that line is gone; of a long text only head and tail leave the container.
# `born` is when the container's first process started: another one means that the container was started again.
_CAPTURE = f"""
export LC_ALL=C.UTF-8
state=$({_TMUX} display-message -p -t main '#{{history_size}} #{{cursor_y}} #{{alternate_on}}') || exit
read -r history cursor alternate <<< "$state"
last=$((history + cursor))
from=0
[[ $alternate == 0 && $SINCE -le $last ]] && from=$((SINCE - history))
text=$({_TMUX} capture-pane -p -J -t main -S "$from") || exit
anchor=$((last > {CONTEXT_LINES} ? last - {CONTEXT_LINES} : 0))
((last > 0)) && context=$({_TMUX} capture-pane -p -J -t main -S $((anchor - history)) -E $((cursor - 1)))
LC_ALL=C
{_BORN}
printf '%s %s %s %s %s\\n%s\\x1e' "$last" "$alternate" "$anchor" "${{#text}}" "$born" "$context"
if ((${{#text}} <= {2 * OBSERVATION_BYTES})); then printf %s "$text"
else printf %s "${{text:0:{OBSERVATION_BYTES}}}${{text: -{OBSERVATION_BYTES}}}"; fi
"""
_SCREEN = 2**40  # a line that is never there: asks for the visible screen


class TerminalDied(Exception):
    """The session is gone (the agent left its shell, or killed it). Never leaves the trial."""


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
        self._anchor = 0
        self._context = ""
        self._born: int | None = None

    async def start(self) -> str:
        """Open the session and return the first screen. Raises InfrastructureError when it does not come up."""
        try:
            return await self._read(_START, PROMPT_S, heading=False)
        except TerminalDied as died:
            raise InfrastructureError(f"the terminal does not start: {died}") from died

    async def exchange(self, commands: Sequence[tuple[str, float]] = ()) -> str:
        """Type each of the keystrokes and wait the seconds that stand beside it; what was printed since the last look.

        Where that does not continue what was seen, the visible screen. At most about 10,000 bytes. All of it is one
        call of the engine, as long as the keys are not very long. Raises TerminalDied when there is no session.
        """
        script, waits = "", 0.0
        for keystrokes, wait_s in commands:
            for step in (*_typed(keystrokes), *_waited(wait_s)):
                if len(script) + len(step) > SCRIPT_BYTES:
                    await self._run(script, timeout_s=waits + ENGINE_S)
                    script, waits = "", 0.0
                script += step
            waits += wait_s
        return await self._read(script, waits, heading=True)

    async def _read(self, first: str, waits_s: float, *, heading: bool) -> str:
        capture = await self._capture(self._anchor, first, waits_s)
        seen = self._context
        if capture.full_screen:
            text, size, title = capture.text, capture.size, "Current terminal screen"
        else:
            if capture.last >= self._anchor and capture.text.startswith(seen):
                text = capture.text[len(seen) :].removeprefix("\n") if seen else capture.text
                size, title = capture.size - len(seen.encode()), "New terminal output"
            else:
                capture = await self._capture(_SCREEN)
                text, size, title = capture.text, capture.size, "Current terminal screen"
            self._anchor, self._context = capture.anchor, capture.context
        shown = cut(text.rstrip(), size)
        return f"{title}:\n{shown}" if heading else shown

    async def _capture(self, since: int, first: str = "", waits_s: float = 0.0) -> _Capture:
        """What stands from a line on, after the commands of `first` have run."""
        result = await self._run(first + _CAPTURE, env={"SINCE": str(since)}, timeout_s=waits_s + ENGINE_S)
        head, _, rest = result.output.partition("\n")
        context, _, text = rest.partition("\x1e")
        try:
            last, alternate, anchor, size, self._born = (int(part) for part in head.split())
        except ValueError as error:
            raise TerminalDied(f"the terminal cannot be read: {head[:200]}") from error
        return _Capture(last, alternate == 1, anchor, size, context, text)

    async def _run(self, script: str, env: dict[str, str] | None = None, timeout_s: float = ENGINE_S) -> CommandResult:
        result = await self._container.run(Command(script=script, env=env or {}, timeout_s=timeout_s))
        if result.exit_code != 0:
            if result.limit is None:
                await self._still_the_same()
            cause = f"ended by the {result.limit} limit" if result.limit else result.output.strip()[-300:]
            raise TerminalDied(cause or "the session has ended")
        return result

    async def _still_the_same(self) -> None:
        """Raise InfrastructureError where the container was stopped meanwhile: its agent cannot do that."""
        if self._born is None:
            return
        now = await self._container.run(Command(script=f"{_BORN}; echo $born", timeout_s=ENGINE_S))
        if now.ok and now.output.strip() != str(self._born):
            raise InfrastructureError("the container was stopped while a trial went on in it")


def _typed(keystrokes: str) -> Iterator[str]:
    """Script lines that type the keys; each fails when there is no session to take them."""
    if keystrokes == "\n" or KEYS.fullmatch(keystrokes):
        yield f"{_TMUX} send-keys -t main -- {keystrokes.strip() or 'Enter'} || exit\n"
        return
    data = keystrokes.encode("utf-8", "replace")
    for start in range(0, len(data), CHUNK_BYTES):
        # Line feeds are left as they are (-r): shells take them for the Enter key, and a program that starts in the
        # middle of the text reads lines, where carriage returns typed ahead would reach it as they are.
        keys = b64encode(data[start : start + CHUNK_BYTES]).decode()
        buffer = f"{_TMUX} load-buffer -b k - \\; paste-buffer -d -r -b k -t main"
        yield f"base64 -d <<< {keys} | {buffer} || exit\n"


def _waited(seconds: float) -> Iterator[str]:
    # Waited inside, where the engine keeps watching what the agent's programs write meanwhile.
    if seconds > 0:
        yield f"sleep {seconds:.3f} || true\n"


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
