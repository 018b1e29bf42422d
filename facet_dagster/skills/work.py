"""What a body gives one to do with local means: commands, programs, scripts. Counting only, no verdict."""

import re
from dataclasses import dataclass

from facet_dagster.skills.markdown import Body
from facet_dagster.skills.shape import SHELL, tools_of

_PROGRAM_LANGUAGES = """
python py javascript js typescript ts tsx jsx java go rust c cpp c++ csharp cs sql ruby rb php r julia perl lua scala
kotlin elixir haskell html css scss vue svelte latex tex toml hcl dockerfile makefile cmake awk jq
"""
# Programs of Debian and of package registries that work on files without reaching out.
_OFFLINE_TOOLS = """
ar awk bamcoverage bandit base64 basename bash bats bc bcftools bedtools binwalk black blastn bwa bzip2 c++ cat cc
chmod chown cksum clang clang++ cmake cmp codeql column comm convert cp cpio crontab csvcut csvkit csvsql cut date dc
dcfldd dd deno detect-secrets df diff diff3 dirname dos2unix dot dotnet du duckdb egrep env envsubst eslint exiftool
expand false fastqc fd ffmpeg ffprobe fgrep file find flake8 flock fmt fold foremost g++ gawk gcc gdb getfacl
ghostscript git gitleaks gpg gradle graphviz grep gs gunzip gzip hadolint head hexdump hostname iconv id identify
imagemagick inkscape install isort jar java javac join jq julia ld less libreoffice ln ls lsblk lua mafft magick make
mawk md5sum mdadm meson mkdir mkfifo mktemp mlr mmls montage more mv mvn mypy namei nginx ninja nl nm node nohup nproc
objdump ocrmypdf od openssl pandoc paste patch pdfimages pdfinfo pdflatex pdftk pdftoppm pdftotext perl pgrep php
pkill pr prettier printf promtool ps psql pwd pytest python python3 qpdf r r2 readelf readlink realpath rename rev rg
rm rmdir rscript rsync ruby ruff rustc samtools sed semgrep seq setfacl setsid sh sha1sum sha256sum sha512sum
shellcheck shopt shuf sigma sleep soffice sort sox split sqlfluff sqlite3 squashfs ss ssh-keygen stat strace strings
sum suricata tac tail tar tcpdump tee tesseract testdisk timeout top touch tr tree trufflehog tsc tshark tsort
unexpand uniq unsquashfs unxz unzip valgrind vim vol volatility watch wc which whoami xargs xelatex xmllint xmlstarlet
xsltproc xxd xz yamllint yara yq zcat zeek zeek-cut zip zstd
"""
_PROGRAMS = frozenset(_PROGRAM_LANGUAGES.split())
_OFFLINE = frozenset(_OFFLINE_TOOLS.split())
_REACHES_OUT = frozenset({"curl", "wget", "gh", "glab", "ssh", "scp"})
_NO_CODE = frozenset({"mermaid", "text", "txt", "markdown", "md", "prompt"})
_INTERPRETERS = frozenset({"python", "python3", "node", "bash", "sh", "ruby", "perl", "deno", "php"})
_COMMAND = re.compile(r"^\$?\s*(?:sudo\s+)?(?:(?:\.{0,2}/)?[a-z][\w./+-]*)(?:\s+(?:-{1,2}[\w-]+|[\w./<*\"'$\{-]+))+")
_LOGS_IN = re.compile(r"\b[a-z][\w-]+ (?:auth |account )?(?:login|whoami|signup)\b|\b[A-Z_]+API_KEY=")
_FILE = re.compile(r"^[\w./~{}<>*-]*\.(?:[a-z]{1,5}\d?)$")
_SCRIPT = re.compile(r"\.(?:py|sh|bash|js|mjs|ts|rb|pl|r)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Work:
    """What there is: local commands in shell blocks, blocks of shell, of programs and of any code, a bundled script,
    commands and file names in the running text."""

    commands: tuple[str, ...]
    reaches_out: bool
    logs_in: bool
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
        procedure = len(self.commands) >= 2 or (self.commands and self.shells >= 3) or self.programs >= 3
        return self.much or bool(self.script and self.shells) or (bool(procedure) and not self.lacks_scripts)

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
    tools = tools_of(body)
    return Work(
        commands=tuple(tool for tool in tools if tool in _OFFLINE),
        reaches_out=not _REACHES_OUT.isdisjoint(tools),
        logs_in=any(block.language in SHELL and _LOGS_IN.search(block.text) for block in body.blocks),
        shells=sum(1 for block in body.blocks if block.language in SHELL),
        programs=sum(1 for block in body.blocks if block.language in _PROGRAMS),
        code=any(block.text.strip() and block.language not in _NO_CODE for block in body.blocks),
        script=next((name for name in siblings if _SCRIPT.search(name)), ""),
        inline=sum(1 for text in body.inline if _COMMAND.match(text)),
        files=any(_FILE.match(text) for text in body.inline),
    )
