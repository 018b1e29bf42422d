"""What a command does: it observes, acts, or does neither; by the table, and by rules for what a name cannot tell.

A command acts when it may change files, processes, packages or another machine. What is not known acts.
"""

import ast
import re
import warnings
from collections.abc import Sequence
from enum import StrEnum

from facet_dagster.yields.command_table import TABLE
from facet_dagster.yields.shell import ShellCommand

PYTHON = re.compile(r"python[\d.]*|pypy[\d.]*")
_SQL = frozenset({"sqlite3", "mysql", "mariadb", "psql", "duckdb"})
_ASKS = re.compile(
    r"(select|explain|pragma\s+\w+\s*(\(|$)|show|describe|desc|values|with"
    r"|\.(?!output|once|import|read|save|backup|restore|shell|system|excel)|\\[dlz?])",
    re.IGNORECASE,
)
_CHANGES = re.compile(r"\b(insert|update|delete|replace\s+into|create|drop|alter|attach|truncate)\b", re.IGNORECASE)
_HELP = frozenset({"--help", "--version", "-version"})
_PROGRAM_BYTES = 200_000
_PRINTING = frozenset({"stdout", "stderr"})


class Kind(StrEnum):
    """What a command does."""

    OBSERVE = "observe"
    ACT = "act"
    NEITHER = "neither"


def kind_of(command: ShellCommand) -> Kind:
    """The kind of one command. Never raises."""
    name, words = command.name, command.words
    if command.writes:
        return Kind.ACT
    if starts_program(command):
        return Kind.OBSERVE if name in TABLE.observe else Kind.NEITHER
    if name == "tee":
        return _kind(all(word.startswith(("-", "/dev/")) for word in words))
    if _HELP & set(words) or (len(words) == 1 and words[0] in {"-h", "-V", "version"}):
        return Kind.OBSERVE
    if PYTHON.fullmatch(name):
        return _kind(_program_observes(command))
    if name in _SQL:
        return _kind(_sql_observes(command))
    if name == "git":
        return _kind(_git_observes(words))
    if name in TABLE.subcommands:
        return _kind(_first_word(words) in TABLE.subcommands[name])
    if name in TABLE.observe:
        return _kind(not _has(TABLE.acts_with.get(name), words))
    if name in TABLE.neither:
        return Kind.NEITHER
    return _kind(_has(TABLE.observes_with.get(name), words) and not _has(TABLE.acts_with.get(name), words))


def starts_program(command: ShellCommand) -> str | None:
    """Which kind of program takes the keyboard from the shell: "prompting", "full_screen", "filters", or None."""
    name, words = command.name, command.words
    plain = [word for word in words if not word.startswith("-") or word == "-"]
    if name in TABLE.keyboard["full_screen"]:
        return "full_screen" if command.shown and not _HELP & set(words) and "-b" not in words else None
    if command.fed:
        return None
    if PYTHON.fullmatch(name) or name in TABLE.keyboard["prompting"]:
        return "prompting" if _prompts(name, words, plain) else None
    if name in TABLE.keyboard["filters"]:
        waits = name in {"tee", "tr", "read", "passwd", "ed", "mapfile"}
        files = [word for word in plain if word != "-"]
        if name in {"head", "tail", "cut"}:
            files = [word for word in files if not word.isdigit()]
        return "filters" if (waits or not files) and not _HELP & set(words) else None
    return None


def _prompts(name: str, words: Sequence[str], plain: Sequence[str]) -> bool:
    if _HELP & set(words) or {"-V", "-c", "-e", "-m", "-f", "-l", "-p", "-r"} & set(words):
        return "-i" in words and name != "mysql"
    if name in {"sqlite3", "psql", "mysql", "mariadb", "redis-cli", "ssh"}:
        return len(plain) <= 1
    return not plain or name in {"gdb", "ftp", "sftp", "telnet"}


def _kind(observes: bool) -> Kind:
    return Kind.OBSERVE if observes else Kind.ACT


def _has(pattern: re.Pattern[str] | None, words: Sequence[str]) -> bool:
    return pattern is not None and any(pattern.fullmatch(word) for word in words)


def _first_word(words: Sequence[str]) -> str:
    return next((word for word in words if not word.startswith("-")), "")


def _git_observes(words: Sequence[str]) -> bool:
    left = list(words)
    while left and left[0].startswith("-"):
        left = left[2:] if left[0] in {"-C", "-c"} else left[1:]
    if not left:
        return True
    what, rest = left[0], left[1:]
    plain = [word for word in rest if not word.startswith("-")]
    match what:
        case "branch" | "tag":
            deletes = {"-d", "-D", "-m", "-M", "-f", "--delete"} & set(rest)
            return not deletes and (not plain or bool({"-l", "--list", "--contains", "--merged"} & set(rest)))
        case "remote":
            return not plain or plain[0] in {"show", "get-url"}
        case "stash" | "worktree" | "submodule" | "notes":
            return plain[:1] in (["list"], ["show"], ["status"])
        case "config":
            return bool({"--get", "--get-all", "-l", "--list", "--get-regexp"} & set(rest)) or len(plain) == 1
        case _:
            return what in TABLE.subcommands["git"]


def _program_observes(command: ShellCommand) -> bool:
    """Whether Python is given a program in the command itself (-c, or as input) that only looks at things."""
    words = command.words
    for place, word in enumerate(words):
        if word == "-c":
            return place + 1 < len(words) and program_observes(words[place + 1])
        if word == "-m":
            return words[place + 1 : place + 2] in (("json.tool",), ("tokenize",), ("ast",), ("dis",)) and not any(
                each for each in words[place + 3 :] if not each.startswith("-")
            )
        if not word.startswith("-"):
            return False  # a file: what it does is not told by the command
        if word == "-":
            break
    return command.given is not None and program_observes(command.given)


def program_observes(program: str) -> bool:
    """Whether nothing in a Python program changes anything outside of it. What does not parse may do anything."""
    if len(program) > _PROGRAM_BYTES:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(program)
        return not any(_changes(node) for node in ast.walk(tree) if isinstance(node, ast.Call))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _changes(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id in TABLE.python.functions or (function.id == "open" and _opens_to_write(call, 1))
    if not isinstance(function, ast.Attribute):
        return False
    owner = function.value
    named = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
    if function.attr == "open":
        return _opens_to_write(call, 1 if named in {"io", "gzip", "codecs", "bz2", "lzma"} else 0)
    if function.attr == "execute":
        return not _asks_only(call)
    if function.attr == "rename" and len(call.args) == 1:  # of a path; that of a table has keywords
        return True
    changing = TABLE.python.methods | TABLE.python.modules.get(named, frozenset())
    return named not in _PRINTING and function.attr in changing


def _opens_to_write(call: ast.Call, place: int) -> bool:
    modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] or call.args[place : place + 1]
    if not modes:
        return False
    mode = modes[0]
    return not isinstance(mode, ast.Constant) or bool(set("wax+") & set(str(mode.value)))


def _asks_only(call: ast.Call) -> bool:
    said = call.args[0] if call.args else None
    if isinstance(said, ast.JoinedStr):
        said = said.values[0] if said.values else None
    return isinstance(said, ast.Constant) and bool(_ASKS.match(str(said.value).strip()))


def _sql_observes(command: ShellCommand) -> bool:
    """Whether all statements that the command is given ask; files of statements may do anything."""
    words, said = command.words, list[str]()
    plain = [word for word in words if not word.startswith("-")]
    flagged = [words[n + 1] for n, word in enumerate(words[:-1]) if word in {"-c", "-e", "--command", "-cmd"}]
    said += flagged
    if command.name in {"sqlite3", "duckdb"}:
        said += plain[1:]
    if command.given is not None:
        said.append(command.given)
    if not said:
        return {"-l", "--list"} & set(words) != set()
    statements = [part.strip() for text in said for part in re.split(r";|\n(?=\s*\.)", text) if part.strip()]
    return all(_ASKS.match(part) and not (part[:4].lower() == "with" and _CHANGES.search(part)) for part in statements)
