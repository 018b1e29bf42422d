"""Prompts as files: `<station>/<name>.md.j2`, rendered strictly, each with a content hash for the ledger.

Belongs here: loading and rendering. What a prompt says stands in its file; how an answer is asked for and
read stands in ask.py. Text that others wrote (skills, files, logs) goes through the `quoted` filter, so
that it cannot close its own frame.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined, meta
from jinja2.sandbox import SandboxedEnvironment

from facet_dagster.records.base import digest_of

FOLDER = Path(__file__).parent


def quoted(text: str, tag: str, limit: int = 20_000) -> str:
    """Frame foreign text as data: `<tag>…</tag>`, inner end tags defused, cut in the middle beyond `limit`."""
    safe = text.replace(f"</{tag}", f"<\\/{tag}")
    if len(safe) > limit:
        half = limit // 2
        safe = f"{safe[:half]}\n[… {len(safe) - limit} characters left out …]\n{safe[-half:]}"
    return f"<{tag}>\n{safe.rstrip()}\n</{tag}>"


@dataclass(frozen=True)
class Rendered:
    """A prompt ready to be sent, with the hash of the template that it came from."""

    text: str
    prompt_hash: str


@lru_cache(maxsize=1)
def _environment() -> SandboxedEnvironment:
    environment = SandboxedEnvironment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["quoted"] = quoted
    return environment


def names() -> list[str]:
    """All prompts, as `station/name`."""
    return sorted(p.relative_to(FOLDER).as_posix().removesuffix(".md.j2") for p in FOLDER.glob("*/*.md.j2"))


def render(name: str, variables: Mapping[str, Any]) -> Rendered:
    """Render `station/name`. A variable that is missing raises jinja2.UndefinedError: a bug, not an answer."""
    text = _environment().get_template(f"{name}.md.j2").render(**variables)
    return Rendered(text=text.strip() + "\n", prompt_hash=_hash_of(name))


@cache
def _hash_of(name: str) -> str:
    return digest_of("".join(_sources(f"{name}.md.j2")))


def _sources(template: str) -> list[str]:
    """The text of a template and of the partials that it includes: a changed partial is a changed prompt."""
    source = (FOLDER / template).read_text(encoding="utf-8")
    included = meta.find_referenced_templates(_environment().parse(source))
    return [source, *(text for name in included if name for text in _sources(name))]
