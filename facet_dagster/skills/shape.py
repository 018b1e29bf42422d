"""What a skill works with: its tools, steps, inputs and outputs, and files that it names but does not bring.

Plain extraction from the body; the scenario's author reads the whole body anyway, so these serve for selection and
counting. Does not belong here: verdicts.
"""

import re

from facet_dagster.skills.hits import find_hits
from facet_dagster.skills.markdown import Body
from facet_dagster.skills.refusal import excerpt

MAX_TOOLS, MAX_STEPS, MAX_FILES = 40, 40, 30

SHELL = frozenset({"bash", "sh", "shell", "console", "zsh", "terminal", "shell-session"})
_SEPARATOR = re.compile(r"\|\||&&|[|;]|\$\(")
_WORD = re.compile(r"^[a-z][a-z0-9_.+-]*$")
_ASSIGNMENT = re.compile(r"^\w+=\S*\s*")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_WORDS_OF_THE_SHELL = """
if then else elif fi for do done while until case esac in function return exit break continue local export set unset
shift read trap eval exec source true false echo printf cd pwd test let declare alias select wait
"""
_HERE_DOCUMENT = re.compile(r"<<-?\s*[\"']?(\w+)")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_KEYWORDS = frozenset(_WORDS_OF_THE_SHELL.split())
_STEP = re.compile(
    r"^(?:\d{1,2}[.)]\s+|#{2,5}\s+(?:(?:step|phase|stage)\s+\d+[.:)—–-]*\s*|\d{1,2}[.)]\s+))(\S.*)$", re.IGNORECASE
)
_DATA_FILE = re.compile(
    r"(?<![\w./-])[\w][\w./-]*\.(?:csv|tsv|json|jsonl|ndjson|ya?ml|toml|ini|conf|cfg|xml|html|md|txt|log|sqlite3?|db|sql"
    r"|parquet|xlsx|docx|pptx|pdf|png|svg|tar|tgz|gz|zip|sha256|env|service|c|h|so|o|crontab)\b(?!\()"
)
_FOLDERS = ("scripts/", "references/", "assets/", "templates/", "resources/")
_BUNDLED = re.compile(  # not inside a longer path, `./` excepted
    r"(?:(?<![\w./-])|(?<=\./)(?<![\w./-]\./))"
    r"(?:scripts|references|assets|templates|resources)/[\w./-]+\.\w{1,6}\b"
)


def tools_of(body: Body) -> tuple[str, ...]:
    """Command names from shell blocks, in the order of first use."""
    found: dict[str, None] = {}
    for block in body.blocks:
        prompts_only = block.language not in SHELL
        if block.language and prompts_only:
            continue
        for command in _commands(block.text, prompts_only=prompts_only):
            found.setdefault(command)
    return tuple(found)[:MAX_TOOLS]


def _commands(text: str, *, prompts_only: bool) -> list[str]:
    commands, closing = [], ""
    for line in text.replace("\\\n", " ").split("\n"):
        if closing:  # inside a here-document
            closing = "" if line.strip() == closing else closing
            continue
        if prompts_only and not line.lstrip().startswith("$ "):
            continue
        if "<<" in line and (opened := _HERE_DOCUMENT.search(line)):
            closing = opened.group(1)
        for part in _SEPARATOR.split(_COMMENT.sub("", _QUOTED.sub("Q", line.strip().removeprefix("$ ")))):
            words = _ASSIGNMENT.sub("", part.strip().removeprefix("sudo ")).split()
            if words and not words[0].startswith("#") and _WORD.match(words[0]) and words[0] not in _KEYWORDS:
                commands.append(words[0])
    return commands


def steps_of(body: Body) -> tuple[str, ...]:
    """Numbered items at the left margin and headings that carry a number."""
    found = (_STEP.match(line) for line in body.outside.split("\n"))
    return tuple(excerpt(match.group(1).strip("*# "), 200) for match in found if match)[:MAX_STEPS]


def files_of(body: Body) -> tuple[str, ...]:
    """Data and configuration files named in code, in order: what the skill reads and writes."""
    code = "\n".join((*(block.text for block in body.blocks), *body.inline))
    return tuple(dict.fromkeys(_DATA_FILE.findall(code)))[:MAX_FILES]


def dangling_of(body: Body, siblings: tuple[str, ...]) -> tuple[str, ...]:
    """Bundled files that the body names and the folder lacks."""
    present = set(siblings)
    named = (hit.group() for hit in find_hits(body.text, _FOLDERS, _BUNDLED))
    return tuple(dict.fromkeys(name for name in named if name not in present))
