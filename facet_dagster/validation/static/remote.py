"""G0, what a RUN of a Dockerfile fetches: scripts, archives and repositories that nobody pins.

Packages by name from their index are no such thing, nor is what this machine serves. Only what is spelt out is told.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

_HERE = r"(?!localhost|127\.|0\.0\.0\.0|\[::1?\])"
_REMOTE = re.compile(
    rf"(?:^|[\s=@])(?:git\+)?(?:https?|ftp|git|ssh)://(?:[^/@\s]*@)?{_HERE}[\w\[]|(?:^|\s)git@[\w.-]+:"
)
_BARE_HOST = re.compile(r"^([\w-]+\.)+(com|org|net|io|dev|ai|rs)(/|$)")
_FETCHERS = frozenset({"curl", "wget", "aria2c"})
_INSTALLERS = frozenset(
    {"pip", "pip2", "pip3", "pipx", "uv", "uvx", "conda", "mamba", "npm", "npx", "pnpm", "yarn", "apt", "apt-get"}
    | {"apk", "yum", "dnf", "gem", "cargo", "go"}
)
_GIT = frozenset({"clone", "fetch", "pull", "ls-remote", "submodule"})
# Options that name an index, a proxy or a registry; what is installed from there still goes by its name.
_INDEX = re.compile(
    r"^(?:-i|-f|-c|--(?:extra-)?index(?:-url)?|--default-index|--find-links|--trusted-host|--proxy|--registry|--channel"
    r"|--repository|--source)(=|$)"
)
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash"})
_BEFORE = frozenset({"sudo", "exec", "command", "time", "nice", "!", "then", "do", "else", "if", "while", "{", "env"})
_OPERATOR = re.compile(r"^[();<>|&]+$")
_SUBSTITUTED = re.compile(r"\$\(([^()]*)\)|`([^`]*)`")


def fetched(script: str) -> Iterator[str]:
    """The commands of a shell script that bring something from elsewhere, by whatever way they are reached."""
    for words in _commands(script):
        for word in words:
            for match in _SUBSTITUTED.finditer(word):
                yield from fetched(match[1] or match[2] or "")
        words = _without_wrappers(words)
        if not words:
            continue
        name = PurePosixPath(words[0]).name
        if name in _SHELLS:
            yield from _of_shell(words)
        elif _fetches(name, words[1:]):
            yield " ".join(words)[:160]


def _fetches(name: str, words: Sequence[str]) -> bool:
    if name in _FETCHERS:
        return any(_REMOTE.search(word) or _BARE_HOST.search(word) for word in words)
    if name == "git":
        return bool(_GIT & set(words)) and any(map(_REMOTE.search, words))
    if re.fullmatch(r"python[\d.]*", name):
        return list(words[:2]) == ["-m", "pip"] and _fetches("pip", words[2:])
    if name in _INSTALLERS or re.fullmatch(r"pip[\d.]+", name):
        return any(map(_REMOTE.search, _without_indexes(words)))
    return False


def _of_shell(words: Sequence[str]) -> Iterator[str]:
    """`bash -c '…'`: what stands behind -c is a script."""
    for option, argument in pairwise(words):
        if re.fullmatch(r"-\w*c", option):
            yield from fetched(argument)
            return


def _without_indexes(words: Sequence[str]) -> list[str]:
    left, skip = [], False
    for word in words:
        option = _INDEX.match(word)
        if not skip and not option:
            left.append(word)
        skip = not skip and option is not None and option[1] == ""
    return left


def _without_wrappers(words: list[str]) -> list[str]:
    """The command itself, without what runs it and without variables set for it."""
    while words:
        if words[0] == "timeout":
            words = words[2:]
        elif words[0] in _BEFORE or re.match(r"\w+=", words[0]) or words[0].startswith("-"):
            words = words[1:]
        else:
            break
    return words


def _commands(script: str) -> Iterator[list[str]]:
    """Simple commands as lists of words."""
    for line in script.splitlines():
        command: list[str] = []
        for word in _words(line):
            if _OPERATOR.match(word):
                yield command
                command = []
            else:
                command.append(word)
        yield command


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # quotes that do not end on this line
        words = re.split(r"\s+|([;|&()]+)", line)
    comment = next((n for n, word in enumerate(words) if word and word.startswith("#")), len(words))
    return [word for word in words[:comment] if word]
