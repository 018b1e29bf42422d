"""tmux in control mode, as far as rollout/terminal.py asks: what is typed is told, the screen always shows a prompt."""

import re
from collections.abc import Callable

PROMPT = "agent@task:/app$"
_TYPED = re.compile(rb'set-buffer -b k -- "(.*)"')
_OCTAL = re.compile(rb"\\([0-7]{3})")
_AT_ONCE = re.compile(rb'run-shell -t main -C "([^"]*)"')


def tmux_says(data: bytes, typed: Callable[[str], object]) -> bytes:
    """What tmux says to the lines that a client sends at a time; `typed` is told of each text that is typed."""
    if data == b"\n":
        return b"born 1\n"
    said = []
    lines = [part for line in data.splitlines() for part in _AT_ONCE.sub(rb"run-shell ; \1", line).split(b" ; ")]
    for number, line in enumerate(lines):
        text = b""
        if keys := _TYPED.match(line):
            typed(_OCTAL.sub(lambda m: bytes([int(m[1], 8)]), keys[1]).decode())
        elif line.startswith(b"display-message -p -t"):
            text = b"0 0 0\n"
        elif line.startswith(b"display-message -p "):
            text = line.rpartition(b" ")[2] + b"\n"
        elif line.startswith(b"capture-pane"):
            text = PROMPT.encode() + b"\n"
        said.append(b"%%begin 1 %d 1\n%s%%end 1 %d 1\n" % (number, text, number))
    return b"".join(said)
