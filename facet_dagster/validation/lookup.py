"""Which names that tests demand nobody tells: looked up in a container before the solution, and again after it.

A name is hidden if neither the instruction nor anything in e0 tells it, and what the solution leaves holds it. In doubt
(a file that cannot be looked into, a search that does not end) nothing is hidden.
"""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from facet_dagster.ports import Container
from facet_dagster.records.container import Command
from facet_dagster.validation.examination import Examination
from facet_dagster.validation.static.names import Name, stem, untold_names

TIMEOUT_S = 60.0
END, OPAQUE = "facet-end-of-search", "facet-opaque-file"
_SEPARATORS = ("_", "-", " ", ".", "/", ":", ",", ", ", ";", "\t", "")
# What the system brings and what graders put there; and what tasks may have put below that.
_SYSTEM = (
    *("/proc", "/sys", "/dev", "/run", "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/boot", "/tests"),
    *("/solution", "/logs", "/var/cache", "/var/lib/apt", "/var/lib/dpkg", "/var/log/apt", "/var/backups"),
    *("/etc/alternatives", "/etc/ssl"),
)
_BELOW = (
    *("/usr/local/bin", "/usr/local/sbin", "/usr/local/etc", "/usr/local/share", "/usr/src"),
    *("/usr/lib/systemd/system", "/lib/systemd/system"),
)
# Contents and names of files, the members of archives, the objects of git repositories.
_LOOK = rf"""
files() {{ find "${{roots[@]}}" -type f ! -path '*/objects/[0-9a-f][0-9a-f]/*' ! -path '*/objects/pack/*' "$@"; }}
unpacked() {{ while IFS= read -r -d '' file; do
    case "${{file,,}}" in
      *.gz|*.tgz) gzip -dcq -- "$file" ;;
      *.xz|*.txz) xz -dcq -- "$file" ;;
      *.bz2|*.tbz2) bzip2 -dcq -- "$file" ;;
      *.zip|*.jar|*.xlsx|*.docx|*.odt|*.ods|*.whl) unzip -p "$file" && unzip -l "$file" ;;
      *.bundle|*.7z|*.rar|*.zst|*.gpg|*.enc|*.parquet|*.pdf) false ;;
    esac || echo {OPAQUE}
  done; }}
repositories() {{ while IFS= read -r -d '' objects; do
    if [ -e "$objects/../HEAD" ]; then
      git -c safe.directory='*' --git-dir="$objects/.." cat-file --batch-all-objects --batch || echo {OPAQUE}
    fi
  done; }}
look() {{
  files -print
  files -size -204800k -exec cat {{}} +
  files -size +204799k -exec echo {OPAQUE} \;
  files -size -204800k -print0 | unpacked
  find "${{roots[@]}}" -type d -name objects -print0 | repositories
}}
search() {{
  look 2>/dev/null | tr '\0' '\n' | LC_ALL=C grep -oiF -f <(printf '%s\n' {OPAQUE} "$@") | sort -fu
  [ "${{PIPESTATUS[2]}}" -gt 1 ] || echo {END}
}}
"""


@dataclass(frozen=True)
class Search:
    """Words, and the folder below which they are looked for; `/` is everything but the system itself."""

    words: frozenset[str]
    folder: str = "/"


async def look_up_in_e0(exam: Examination, container: Container) -> None:
    """Names of the tests that e0 does not tell either; a container is asked only where reading leaves any."""
    task = exam.candidate
    names = untold_names(task)
    if not names:
        return
    whole = frozenset(spelling for name in names for spelling in _spellings(name.text))
    parts = frozenset(stem(part) for name in names for part in name.parts)
    found = await _found(container, Search(whole), Search(parts, task.workdir))
    if found is None or any(OPAQUE in text for text in found):
        return
    everywhere, near = found
    instruction = task.instruction.lower()
    exam.untold = tuple(name for name in names if not _told(name, instruction, everywhere, near))


async def look_up_in_solved(exam: Examination, container: Container) -> None:
    """Those of them that what the solution left holds."""
    if not exam.untold:
        return
    found = await _found(container, Search(frozenset(name.text for name in exam.untold)))
    if found is not None:
        exam.hidden = tuple(name for name in exam.untold if name.text.lower() in found[0])


def _told(name: Name, instruction: str, everywhere: str, near: str) -> bool:
    """Found as a whole, in whatever spelling; or put together of words of the instruction and of the task's files."""
    if any(spelling.lower() in everywhere for spelling in _spellings(name.text)):
        return True
    parts = [stem(part) for part in name.parts]
    said = [part in instruction for part in parts]
    known = all(part in instruction or part in near for part in parts)
    return known and (name.value or (any(said) and len(parts) > 1))


def _spellings(text: str) -> list[str]:
    words = re.split(r"[ _-]+", text)
    return [text, *(separator.join(words) for separator in _SEPARATORS if len(words) > 1)]


async def _found(container: Container, *searches: Search) -> list[str] | None:
    """What occurs of the words of each search, in lower case; None where a search did not come to its end."""
    script = "\n".join([_LOOK, *map(_script, searches)])
    done = await container.run(Command(script=script, user="root", workdir="/", timeout_s=TIMEOUT_S))
    *found, rest = done.output.lower().split(f"{END}\n")
    whole = done.ok and not done.truncated and len(found) == len(searches) and not rest.strip()
    return found if whole else None


def _script(search: Search) -> str:
    return f"roots=({_roots(search.folder)})\nsearch {_quoted(sorted(search.words))}"


def _roots(folder: str) -> str:
    if folder != "/":
        return f"{shlex.quote(folder)} -xdev"
    pruned = " -o ".join(f"-path {path}" for path in _SYSTEM)
    return f"/ {' '.join(_BELOW)} -xdev '(' {pruned} ')' -prune -o"


def _quoted(words: Iterable[str]) -> str:
    return " ".join(map(shlex.quote, words))
