"""The cheats: agents that do no work and reach for the reward instead. A fixed set, kept as bash scripts in cheats/.

One script is one run. In it, each line `# cheat: NAME - WHAT` begins a cheat; what the user may not do fails and the
next one is tried. `CHEAT_OUTPUTS` holds the paths that the instruction names, `CHEAT_TESTS` the names of the files
under /tests, which a cheat may have guessed. Running them stands in gates/tampering.py.

Where the agent is root, the cheats run as a user that owns the task's folder and nothing else: a superuser can replace
Python itself, so that its cheats would tell good tests from bad ones no longer.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from facet_dagster.records.container import Command
from facet_dagster.validation.candidate import Candidate

SCRIPTS = Path(__file__).parent / "cheats"
TIMEOUT_S = 60.0
PLANTING = "rewards"  # the run after which a reward lies there already when the tests begin
ROOT = frozenset({"root", "0", "0:0", "root:root"})
_STAND_IN = "65534:65534"
_HOME = "/var/tmp/facet-agent"
_TITLE = re.compile(r"^# cheat: (?P<name>[^\n]+?) - (?P<what>[^\n]+)$", re.M)
_PATH = re.compile(r"(?<![\w./-])(?:/[\w@+-][\w.@+-]*)+/?")
NAMED = 100  # paths that are handed to the cheats, at most


@dataclass(frozen=True)
class Cheat:
    """One way of reaching for the reward."""

    name: str
    what: str


@dataclass(frozen=True)
class Cheats:
    """The cheats of one run."""

    name: str
    cheats: tuple[Cheat, ...]
    script: str

    def command(self, task: Candidate) -> Command:
        """Its run by the agent's user, in the task's folder."""
        env = {
            "CHEAT_OUTPUTS": "\n".join(named_paths(task.instruction)),
            "CHEAT_TESTS": "\n".join([file.path for file in task.tests][:NAMED]),
        }
        user = task.user
        if user in ROOT:
            user, env["HOME"] = _STAND_IN, _HOME
        return Command(script=self.script, user=user, workdir=task.workdir, timeout_s=TIMEOUT_S, env=env)


def stand_in(task: Candidate) -> Command:
    """Makes the task's folder that of the user whom the cheats run as in place of root."""
    folder = "" if task.workdir == "/" else shlex.quote(task.workdir)
    script = f"mkdir -p {_HOME}; chown -R {_STAND_IN} {_HOME} {folder}"
    return Command(script=script, user="root", workdir="/")


def all_cheats() -> tuple[Cheats, ...]:
    """Every run, in the order of their names."""
    return tuple(_read(path) for path in sorted(SCRIPTS.glob("*.sh")))


def named_paths(instruction: str) -> list[str]:
    """Absolute paths of an instruction, without those of folders and of folders of other paths."""
    found = {match[0].rstrip(".") for match in _PATH.finditer(instruction)}
    files = sorted(path for path in found if not path.endswith("/") and path.count("/") > 1)
    return [path for path in files if not any(other.startswith(f"{path}/") for other in found)][:NAMED]


def _read(path: Path) -> Cheats:
    script = path.read_text(encoding="utf-8")
    cheats = tuple(Cheat(match["name"], match["what"]) for match in _TITLE.finditer(script))
    return Cheats(path.stem, cheats, script)
