"""G0, commands: what installs something or reaches for the network while grading. Only what is certain is told.

A command counts where it stands as a command, always runs, and its target is not this very machine.
"""

import re
import shlex
from collections.abc import Iterator

from facet_dagster.validation.static.heredocs import skip

_LOCAL = re.compile(r"localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\]|file://|unix-socket|\$")
_OPTIONS = r"(\s+-\S+)*\s+"
_INSTALLS = (
    re.compile(rf"^(apt|apt-get|aptitude|apk|yum|dnf|microdnf|zypper){_OPTIONS}(install|add|update|upgrade|in)\b"),
    # A path alone may be installed without network.
    re.compile(
        rf"^(pip[\d.]*|uv\s+pip|python[\d.]*\s+-m\s+pip){_OPTIONS}install\b(?!.*--no-index)(?!.*\s\.{{0,2}}/\S*\s*$)(?!.*\s\.$)"
    ),
    re.compile(r"^uvx\s|^uv\s+(add|sync|tool)\b|^pipx\s+(install|run)\b|^poetry\s+(install|add)\b"),
    re.compile(r"^(conda|mamba|micromamba)\s+(install|create|update)\b|^(cargo|gem|go)\s+install\b|^go\s+get\b"),
    re.compile(r"^(npm|pnpm|bun)\s+(install|ci|add|i)\b|^yarn(\s+(install|add)\b|\s*$)"),
)
_FETCHES = (
    re.compile(r"^(curl|wget|aria2c)\b.*(https?://|ftp://|\s[\w-]+(\.[\w-]+)+(/|\s|$))"),
    re.compile(r"^git\s.*\b(clone|fetch|pull|ls-remote|submodule)\b.*(https?://|git://|ssh://|git@)"),
)
_BEFORE = re.compile(r"^((sudo|exec|command|time|nice|!|then|do|else|\{|\(|env|-\w+|\w+=\S*)\s+|timeout\s+\S+\s+)+")
_SPLIT = re.compile(r"&&|\|\||;|\||\$\(|`|&(?!\d|>)")
_ONLY_IF = re.compile(r"^\s*(if|elif|while|until|case)\b|^\s*(\w+\s*\(\)|function\s)")
_END_IF = re.compile(r"(^|[;\s])(fi|done|esac|\})\s*(;|$|\))")


def network_commands(script: str) -> Iterator[tuple[int, str]]:
    """Line and command of what installs or fetches, wherever that is certain to run."""
    depth = 0
    for number, line in _logical(script):
        opened = _ONLY_IF.match(line) is not None
        if not opened and depth == 0:
            found = reaches_out(line)
            if found is not None:
                yield number, found
        depth = max(0, depth + opened - len(_END_IF.findall(line)))


def reaches_out(line: str) -> str | None:
    """The first command of a line that installs or fetches, as far as it always runs."""
    parts = re.split(r"(&&|\|\|)", line)
    # What stands behind `||` runs only if something is missing.
    always = "".join(parts[: parts.index("||")]) if "||" in parts else line
    for part in _SPLIT.split(_without_texts(always)):
        command = _BEFORE.sub("", part.strip()).strip()
        if _LOCAL.search(command):
            continue
        if any(pattern.search(command) for pattern in (*_INSTALLS, *_FETCHES)):
            return command[:160]
    return None


def joined(words: list[str]) -> str:
    """An argument list as one command."""
    return shlex.join(words) if all("://" not in word for word in words) else " ".join(words)


def _without_texts(line: str) -> str:
    """Without comments, and without quoted texts that hold white space: those are shown, not run."""
    line = re.sub(r"(^|\s)#.*$", "", line)
    return re.sub(r"\"[^\"$`]*\s[^\"$`]*\"|'[^']*\s[^']*'", "TEXT", line)


def _logical(script: str) -> Iterator[tuple[int, str]]:
    """Lines with continuations joined and here-documents left out."""
    lines = script.splitlines()
    index = 0
    while index < len(lines):
        first, line = index, lines[index]
        index += 1
        while line.endswith("\\") and index < len(lines):
            line = line[:-1] + " " + lines[index].strip()
            index += 1
        _, index = skip(line, lines, index)
        yield first + 1, line
