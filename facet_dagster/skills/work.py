"""What a body gives one to do with local means: commands, programs, scripts. Counting only, no verdict."""

import re
from dataclasses import dataclass

from facet_dagster.skills.markdown import Body
from facet_dagster.skills.shape import SHELL, tools_of

_PROGRAM_LANGUAGES = """
python py javascript js typescript ts tsx jsx java go rust c cpp c++ csharp cs sql ruby rb php r julia perl lua scala
kotlin elixir haskell html css scss vue svelte latex tex toml hcl dockerfile makefile cmake awk jq
"""
_REACH_OUT_OR_INSTALL = """
curl wget gh glab aws az gcloud kubectl helm terraform vercel wrangler flyctl fly heroku ssh scp brew open osascript
xcrun xcodebuild adb claude codex gemini apt apt-get pip pip3 npm npx pnpm yarn bun bunx uv uvx cargo go docker
docker-compose sudo snow databricks supabase firebase stripe
"""
_PROGRAMS = frozenset(_PROGRAM_LANGUAGES.split())
_NOT_LOCAL = frozenset(_REACH_OUT_OR_INSTALL.split())
_NO_CODE = frozenset({"mermaid", "text", "txt", "markdown", "md", "prompt"})
_INTERPRETERS = frozenset({"python", "python3", "node", "bash", "sh", "ruby", "perl", "deno", "php"})
_COMMAND = re.compile(r"^\$?\s*(?:sudo\s+)?(?:(?:\.{0,2}/)?[a-z][\w./+-]*)(?:\s+(?:-{1,2}[\w-]+|[\w./<*\"'$\{-]+))+")
_FILE = re.compile(r"^[\w./~{}<>*-]*\.(?:[a-z]{1,5}\d?)$")
_SCRIPT = re.compile(r"\.(?:py|sh|bash|js|mjs|ts|rb|pl|r)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Work:
    """What there is: local commands in shell blocks, blocks of shell, of programs and of any code, a bundled script,
    commands and file names in the running text."""

    commands: tuple[str, ...]
    shells: int
    programs: int
    code: bool
    script: str
    inline: int
    files: bool

    @property
    def nothing(self) -> bool:
        """Prose: no code, no command, no file to work on, no script."""
        return not (self.code or self.script or self.inline or self.files)

    @property
    def little(self) -> bool:
        """Something to run or to write, but not enough to tell."""
        return bool(self.shells or self.programs or self.script or self.inline)

    @property
    def some(self) -> bool:
        """Enough of a procedure, unless it only starts scripts that are not there."""
        procedure = len(self.commands) >= 2 or (self.commands and self.shells >= 3) or self.programs >= 2
        return self.much or (bool(procedure) and not self.lacks_scripts)

    @property
    def much(self) -> bool:
        """So much that it outweighs signs of something that is out of reach."""
        return bool(self.script and self.shells >= 2) or len(self.commands) >= 4 or self.programs >= 6

    @property
    def lacks_scripts(self) -> bool:
        return not self.script and not self.programs and set(self.commands) <= _INTERPRETERS

    def shown(self) -> str:
        """One line of evidence."""
        parts = (
            f"local commands {', '.join(self.commands[:5])}" if self.commands else "",
            f"{self.programs} blocks of program text" if self.programs else "",
            f"{self.shells} shell blocks" if self.shells else "",
            f"the script {self.script}" if self.script else "",
            f"{self.inline} commands in the text" if self.inline else "",
        )
        return "; ".join(part for part in parts if part) or "no local command"


def work_of(body: Body, siblings: tuple[str, ...]) -> Work:
    """Count; `siblings` are the paths of the files beside SKILL.md."""
    return Work(
        commands=tuple(tool for tool in tools_of(body) if tool not in _NOT_LOCAL),
        shells=sum(1 for block in body.blocks if block.language in SHELL),
        programs=sum(1 for block in body.blocks if block.language in _PROGRAMS),
        code=any(block.text.strip() and block.language not in _NO_CODE for block in body.blocks),
        script=next((name for name in siblings if _SCRIPT.search(name)), ""),
        inline=sum(1 for text in body.inline if _COMMAND.match(text)),
        files=any(_FILE.match(text) for text in body.inline),
    )
