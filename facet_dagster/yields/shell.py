"""Shell text to the simple commands that it runs, by a real parse (tree-sitter's grammar of bash).

Belongs here: what stands in the text. Whether it was typed at a shell at all: typed.py; what it does: observing.py.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from facet_dagster.yields.command_table import TABLE, Wrapper

PATIENCE = 3_000  # steps of the parser's own count: hostile text takes it for ever, an honest 100 KB some hundred
INNER = 4  # how deep `bash -c` may stand within `bash -c`
SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
_WRITES = frozenset({">", ">>", "&>", "&>>", ">|", "<>", ">&"})
_NOWHERE = re.compile(r"/dev/(null|stdout|stderr|tty|fd/\d+)|\d+|-")
_SIMPLE = frozenset({"command", "test_command", "declaration_command", "unset_command"})
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_BASH = Language(tree_sitter_bash.language())


@dataclass(frozen=True)
class ShellCommand:
    """One simple command: the base name of its program without wrappers such as sudo, and its arguments unquoted.

    `writes`: its output goes to a file. `given` is what a here-document or -string feeds it; `fed` says that its input
    is not the keyboard, `shown` that its output is not read by another command.
    """

    name: str
    words: tuple[str, ...] = ()
    writes: bool = False
    given: str | None = None
    fed: bool = False
    shown: bool = True


def shell_commands(text: str, depth: int = 0) -> list[ShellCommand]:
    """The commands of a text in the order in which they stand; none of a text that the parser gives up on.

    Those within pipelines, lists, loops, functions and substitutions count; so do those that a `bash -c` is given, in
    its place. Never raises.
    """
    data = text.encode("utf-8", "replace")
    asked = 0

    def impatient(_offset: int, _error: bool) -> bool:
        nonlocal asked
        asked += 1
        return asked > PATIENCE

    def read(offset: int, _point: object) -> bytes:
        return data[offset : offset + 65_536]

    try:
        root = Parser(_BASH).parse(read, progress_callback=impatient).root_node
    except ValueError:  # what the binding raises for a parse that was given up
        return []
    found = _Collected()
    found.collect(root)
    return [inner for command in found.in_order() for inner in _unwrapped(command, depth)]


def unfinished(text: str) -> bool:
    """Whether a here-document is still open at the end: the shell waits for more of the same command."""
    opened = re.findall(r"<<(-?)\s*(['\"]?)([A-Za-z_]\w*)\2", text)
    lines = text.split("\n")
    return any(word not in ([line.lstrip("\t") for line in lines] if dash else lines) for dash, _, word in opened)


@dataclass
class _Redirected:
    """What redirections do to the command that they stand behind."""

    writes: bool = False
    fed: bool = False
    given: str | None = None


class _Collected:
    """The simple commands of a tree by node, with what redirections and pipes do to them. Walks without recursion."""

    def __init__(self) -> None:
        self._commands: dict[int, tuple[int, ShellCommand]] = {}  # by node: where it starts, what it is

    def in_order(self) -> list[ShellCommand]:
        return [command for _, command in sorted(self._commands.values(), key=lambda each: each[0])]

    def collect(self, root: Node) -> None:
        redirected: list[Node] = []
        open_nodes = [(root, False, True)]
        while open_nodes:
            node, fed, shown = open_nodes.pop()
            if node.type in _SIMPLE:
                command = _simple(node)
                command = replace(command, fed=fed or command.fed, shown=shown)
                self._commands[node.id] = (node.start_byte, command)
            if node.type == "redirected_statement":
                redirected.append(node)
            if node.type in {"heredoc_body", "comment"}:
                continue
            open_nodes += _children(node, fed, shown)
        for node in redirected:
            self._redirect(node)

    def _redirect(self, node: Node) -> None:
        effect = _effect([child for child in node.named_children if child.type in _REDIRECTS])
        body = node.child_by_field_name("body")
        target = _last_simple(body) if body is not None else None
        if target is None or target.id not in self._commands:
            if effect.writes and body is None:
                self._commands[node.id] = (node.start_byte, ShellCommand(">", writes=True))
            return
        start, command = self._commands[target.id]
        self._commands[target.id] = (start, _with(command, effect))


def _children(node: Node, fed: bool, shown: bool) -> Iterator[tuple[Node, bool, bool]]:
    children = node.named_children
    if node.type == "pipeline":
        after_heredoc = node.parent is not None and node.parent.type == "heredoc_redirect"
        for place, child in enumerate(children):
            yield child, fed or after_heredoc or place > 0, shown and place == len(children) - 1
        return
    inside = node.type in {"command_substitution", "process_substitution"}
    for child in children:
        yield child, fed, shown and not inside


def _last_simple(node: Node) -> Node | None:
    """The command that stands last in a list, a pipeline or the body of a loop: a redirection is counted as its."""
    while node.type not in _SIMPLE:
        inner = [child for child in node.named_children if child.type not in _REDIRECTS | {"comment"}]
        if not inner:
            return None
        node = inner[-1]
    return node


def _effect(redirects: list[Node]) -> _Redirected:
    effect = _Redirected()
    waiting = list(redirects)
    while waiting:
        node = waiting.pop()
        if node.type == "file_redirect":
            operator = next((_text(child) for child in node.children if not child.is_named), "")
            target = node.child_by_field_name("destination")
            name = _unquoted(target) if target is not None else ""
            effect.writes |= operator in _WRITES and not _NOWHERE.fullmatch(name)
            effect.fed |= operator.startswith("<")
        elif node.type == "herestring_redirect":
            effect.fed, effect.given = True, " ".join(_unquoted(child) for child in node.named_children)
        elif node.type == "heredoc_redirect":
            body = next((child for child in node.named_children if child.type == "heredoc_body"), None)
            effect.fed, effect.given = True, _text(body) if body is not None else ""
            waiting += [child for child in node.named_children if child.type in _REDIRECTS]
    return effect


def _with(command: ShellCommand, effect: _Redirected) -> ShellCommand:
    return replace(
        command,
        writes=command.writes or effect.writes,
        fed=command.fed or effect.fed,
        given=command.given if effect.given is None else effect.given,
    )


def _simple(node: Node) -> ShellCommand:
    if node.type != "command":
        words = [_text(child) for child in node.children]
        return ShellCommand(words[0] if words else node.type, tuple(words[1:]))
    name, words, redirects = "", [], []
    for child in node.children:
        if child.type == "command_name":
            name = _unquoted(child)
        elif child.type in _REDIRECTS:
            redirects.append(child)
        elif name or child.type != "variable_assignment":  # before the name: of its environment only
            words.append(_unquoted(child))
    return _with(ShellCommand(_base(name), tuple(words)), _effect(redirects))


def _base(name: str) -> str:
    """The name as it is counted: a program's path is left out."""
    return PurePosixPath(name).name if "/" in name.rstrip("/") and "\n" not in name else name


def _unwrapped(command: ShellCommand, depth: int) -> Iterator[ShellCommand]:
    """The command that a wrapper runs, or those that a shell is given as text."""
    wrappers: Mapping[str, Wrapper] = TABLE.wrappers
    while command.name in wrappers:
        left = wrappers[command.name].rest(command.words)
        if not left:
            break
        fed = command.fed or command.name == "xargs"
        command = replace(command, name=_base(left[0]), words=tuple(left[1:]), fed=fed)
    inner = _shell_text(command)
    if inner is None or depth >= INNER:
        yield command
        return
    commands = shell_commands(inner, depth + 1)
    if commands and command.writes:
        commands[-1] = replace(commands[-1], writes=True)
    yield from commands or [command]


def _shell_text(command: ShellCommand) -> str | None:
    """What a shell is told to run: by -c, by eval, or as its input."""
    if command.name == "eval":
        return " ".join(command.words)
    if command.name not in SHELLS and command.name != "su":
        return None
    for place, word in enumerate(command.words[:-1]):
        if re.fullmatch(r"-[a-z]*c", word):
            return command.words[place + 1]
    scripts = [word for word in command.words if not word.startswith("-")]
    return command.given if not scripts and command.name != "su" else None


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _unquoted(node: Node) -> str:
    """A word as the program would get it, expansions left as they are written."""
    text = _text(node)
    if node.type in {"command_name", "concatenation"} and node.named_children:
        return "".join(_flat(child) for child in node.named_children)
    return _flat(node) if node.type != "command_name" else text


def _flat(node: Node) -> str:
    text = _text(node)
    if node.type == "raw_string" and len(text) >= 2:
        return text[1:-1]
    if node.type == "string" and len(text) >= 2:
        return re.sub(r"\\([\"\\$`])", r"\1", text[1:-1])
    if node.type == "ansi_c_string" and len(text) >= 3:
        return text[2:-1]
    return re.sub(r"\\(.)", r"\1", text) if node.type == "word" else text
