"""A chat model that answers every station in the length of a real one, and brings about the fate of each seed.

It sees nothing but the requests. Answers depend on the call alone, so that a walk can be repeated.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from facet_dagster.errors import ModelUnavailable
from facet_dagster.records.call import ChatRequest, Completion
from facet_dagster.testing.fates import Fate, Fault, Rates, fate_of
from facet_dagster.testing.prose import prose

REPORT, SUMMARY, ORDERS = "/app/out/report.csv", "/app/out/summary.json", "/app/data/orders.csv"
REQUIREMENTS = (
    (REPORT, "holds one row for each order that was kept"),
    (REPORT, "is in the order of the ids"),
    (REPORT, "has the header of the given orders"),
    (SUMMARY, "holds the count of the rows that were kept"),
    (SUMMARY, "holds the total over all rows that were kept"),
)
_SKILL = re.compile(r"^## (\S+)$", re.MULTILINE)
_LISTED = re.compile(r'"skill_id": ?"([^"]+)"')
Answer = dict[str, Any] | str
# What the lines of a toy solution mean to a real shell.
SHELL = (
    "#!/bin/bash",
    "set -euo pipefail",
    'put() { printf \'%b\' "$2" > "$1"; }',
    "fail() { echo 'sort: cannot read'; exit 1; }",
)


class SimulatedModel:
    """ChatModel. `answered` counts the answers by station, `failed` what was refused as unavailable."""

    def __init__(self, rates: Rates) -> None:
        self._rates = rates
        self._troubled: set[str] = set()
        self.answered: Counter[str] = Counter()
        self.failed = 0

    async def complete(self, request: ChatRequest) -> Completion:
        """Raises ModelUnavailable once for a seed whose fate it is, KeyError for a station that is not simulated."""
        call, folder = request.call, request.call.station.partition(".")[0]
        if folder == "seeds":
            answer = _SEEDS[call.station](request, self._rates)
        else:
            fate = fate_of(call.subject, self._rates)
            self._fail_once(request, fate)
            answer = _turn(request, fate) if folder == "rollout" else _STATIONS[call.station](request, fate)
        self.answered[call.station] += 1
        text = answer if isinstance(answer, str) else json.dumps(answer)
        asked = sum(len(message.content) for message in request.messages)
        return Completion(text=text, model="simulated", prompt_tokens=asked // 4, completion_tokens=len(text) // 4 + 1)

    def _fail_once(self, request: ChatRequest, fate: Fate) -> None:
        subject = request.call.subject
        if fate.trouble and request.call.station == "authoring.solution" and subject not in self._troubled:
            self._troubled.add(subject)
            self.failed += 1
            raise ModelUnavailable("the simulated endpoint does not answer")


def report_of(seed: str) -> str:
    """What the solution of a seed writes, `\\n` between the lines."""
    rows = [f"{number},{len(seed) * number % 97},kept" for number in range(1, 7)]
    return "\\n".join(["id,price,status", *rows, ""])


def summary_of(seed: str) -> str:
    return json.dumps({"count": 6, "total": sum(len(seed) * number % 97 for number in range(1, 7))})


def _hypotheses(request: ChatRequest, _: Rates) -> Answer:
    key = request.call.subject
    names = ("context", "goal", "initial_state", "final_state")
    return {"hypotheses": [{name: prose(f"{key} {n} {name}", 500) for name in names} for n in (1, 2)]}


def _judge(request: ChatRequest, rates: Rates) -> Answer:
    key = request.call.subject
    kept = fate_of(key, Rates(valid_at_once=rates.kept_candidates)).repairs == 0
    title = " ".join(prose(key, 20).rstrip(".").split()[:4])
    reason = prose(f"{key} reason", 300)
    questions = {"relevant": True, "complementary": kept, "non_redundant": True, "executable": True}
    return {**questions, "reason": reason, "title": title if kept else ""}


def _texts(key: str, **lengths: int) -> dict[str, str]:
    return {name: prose(f"{key} {name}", length) for name, length in lengths.items()}


def _lists(key: str, each: int, *names: str) -> dict[str, list[str]]:
    return {name: [prose(f"{key} {name} {n}", each) for n in range(4)] for name in names}


def _analysis(request: ChatRequest, _: Fate) -> Answer:
    names = ("capabilities", "tools", "inputs", "outputs", "preconditions", "observable_effects")
    skills = _SKILL.findall(request.messages[0].content.partition("# How to answer")[0])
    return {"analyses": [{"skill_id": skill, **_lists(skill, 50, *names)} for skill in skills]}


def _association(request: ChatRequest, _: Fate) -> Answer:
    skills = list(dict.fromkeys(_LISTED.findall(request.messages[0].content)))
    uses = {skill: prose(skill, 300) for skill in skills}
    return {
        **_texts(request.call.subject, setting=800),
        "kept_skills": skills,
        "dropped_skills": {},
        "use_of_each": uses,
    }


def _integration(request: ChatRequest, _: Fate) -> Answer:
    key, names = request.call.subject, ("goal", "context", "capability", "state", "inputs_outputs_tools")
    return {
        "title": "Orders that count",
        **_texts(key, description=3_000),
        "dimensions": _texts(key, **dict.fromkeys(names, 550)),
    }


def _reference(request: ChatRequest, _: Fate) -> Answer:
    requirements = [
        {"id": f"R{number}", "text": f"{path} {what}", "observable": path}
        for number, (path, what) in enumerate(REQUIREMENTS, 1)
    ]
    return {**_texts(request.call.subject, instruction_reference=2_500), "requirements": requirements}


def _revision(request: ChatRequest, fate: Fate) -> Answer:
    reference = _reference(request, fate)
    assert isinstance(reference, dict)
    return {**_texts(request.call.subject, solution_reference=1_700), **reference}


def _consistency(_: ChatRequest, fate: Fate) -> Answer:
    problems = [] if fate.scripted else ["the workflow does not support R2"]
    return {"consistent": fate.scripted, "problems": problems}


def _manifest(request: ChatRequest, _: Fate) -> Answer:
    files = [{"path": ORDERS, "purpose": prose(request.call.subject, 900), "format": "CSV", "made_by": "inline"}]
    files += [
        {"path": f"/app/data/notes_{n}.txt", "purpose": "notes", "format": "text", "made_by": "inline"} for n in (1, 2)
    ]
    probes = [{"id": "P1", "description": "the orders are there", "probe": f"test -s {ORDERS}"}]
    return {
        "directories": ["/app/out"], "files": files, "apt_packages": [], "pip_packages": [], "services": [],
        "properties": probes,
    }  # fmt: skip


def _materials(request: ChatRequest, fate: Fate) -> Answer:
    """Every second fault is a build that ends, the others a file that is not where it was planned."""
    seed, broken = request.call.subject, request.call.attempt < fate.builds
    rows = [f"{number},{len(seed) * number % 97},{'kept' if number < 7 else 'stale'}" for number in range(1, 150)]
    place = ORDERS if not broken or request.call.attempt % 2 == 0 or fate.builds > 3 else f"{ORDERS}.old"
    breaks = [f"{BREAKS} {request.call.attempt}"] if broken and place == ORDERS else []
    contents = {place: "\n".join(["id,price,status", *rows, ""])}
    contents |= {f"/app/data/notes_{n}.txt": prose(f"{seed} {n}", 7_000) + "\n" for n in (1, 2)}
    contents |= {
        f"/app/data/stale_{n}.csv": f"id,price,status\n{n},{prose(f'{seed} stale', 2_000)},stale\n" for n in (1,)
    }
    return {
        "apt_packages": [], "pip_packages": [], "generators": [], "services": [], "properties": [],
        "setup_commands": ["install -d -o agent out", *breaks],
        "files": [{"path": path, "content": text, "executable": False} for path, text in contents.items()],
    }  # fmt: skip


BREAKS = "exit 1 # at attempt"  # a set-up command with which no image of a simulation builds


def _instruction(request: ChatRequest, fate: Fate) -> Answer:
    if fate.excluded:
        return "There is nothing to be told."
    clauses = {f"R{number}": f"`{path}` {what}" for number, (path, what) in enumerate(REQUIREMENTS, 1)}
    told = ". ".join(f"Make sure that {clause}" for clause in clauses.values())
    names = "It has the columns `id`, `price` and `status`; the summary has the keys `count` and `total`."
    text = f"The orders stand in `{ORDERS}`. {told}. {names} {prose(request.call.subject, 900)}"
    return {"text": text, "clauses": clauses}


def _solution(request: ChatRequest, fate: Fate) -> Answer:
    seed, round = request.call.subject, request.call.round
    fails = [f"fail # {round}"] if fate.fault is Fault.SOLUTION and round < fate.repairs else []
    comments = [f"# {line}" for line in prose(f"{seed} script", 3_500).split(". ")]
    puts = [f"put {REPORT} '{report_of(seed)}'", f"put {SUMMARY} '{summary_of(seed)}'"]
    script = "\n".join([*SHELL, f"# round {round}", *comments, *fails, *puts, ""])
    return {"script": script, **_texts(seed, workflow=600)}


def _verifier(request: ChatRequest, fate: Fate) -> Answer:
    """Comments demand what the assertions demand: toy containers read the former, real ones run the latter."""
    seed, round = request.call.subject, request.call.round
    fault = fate.fault if round < fate.repairs else None
    wanted = {REPORT: report_of(seed), SUMMARY: "{}" if fault is Fault.WRONG else summary_of(seed)}
    tests = []
    for number, (path, _) in enumerate(REQUIREMENTS, 1):
        demand, check = f"# want {path} {wanted[path]}", f"text == {_text(wanted[path])!r}"
        if fault is Fault.WEAK:
            demand, check = f"# some {path}", "'t' in text"
        read = f"    text = Path({path!r}).read_text()\n"
        if fault is Fault.BLIND:
            demand, check, read = "# nothing", f"text.count({str(number)!r}) == 0", "    text = str(Path('/app'))\n"
        comment = "\n".join(f"    # {line}" for line in prose(f"{seed} test {number}", 1_500).split(". "))
        body = f"{comment}\n{read}    assert {check}, 'expected other content'\n"
        tests.append(f"{demand}\ndef test_r{number}_holds():\n{body}")
    return {"test_file": f"# round {round}\nfrom pathlib import Path\n\n\n" + "\n\n".join(tests)}


def _text(escaped: str) -> str:
    return escaped.replace("\\n", "\n")


def _diagnose(request: ChatRequest, fate: Fate) -> Answer:
    component = "solution" if fate.fault is Fault.SOLUTION else "verifier"
    failure = request.messages[0].content.partition("<failure>")[2].strip()
    return {"component": component, "evidence": failure.partition("\n")[0], **_texts(request.call.subject, advice=500)}


def _turn(request: ChatRequest, fate: Fate) -> Answer:
    """One turn of the teacher: it works in the last but two, and says twice that it is done."""
    seed, turn = request.call.subject, request.call.turn
    keys = f"head -20 {ORDERS}\n"
    if turn == fate.turns - 2:
        summary = summary_of(seed) if fate.solved else "{}"
        keys = f"put {REPORT} '{report_of(seed)}'\nput {SUMMARY} '{summary}'\n"
    done = turn >= fate.turns - 1
    commands = [] if done else [{"keystrokes": keys, "duration": 0.0}]
    return {**_texts(f"{seed} {turn}", analysis=900, plan=700), "commands": commands, "task_complete": done}


_SEEDS: dict[str, Callable[[ChatRequest, Rates], Answer]] = {"seeds.hypotheses": _hypotheses, "seeds.judge": _judge}
_STATIONS: dict[str, Callable[[ChatRequest, Fate], Answer]] = {
    "scenario.analysis": _analysis,
    "scenario.exploration": lambda request, _: _lists(request.call.subject, 380, "settings"),
    "scenario.association": _association,
    "scenario.evolution": lambda request, _: {
        **_texts(request.call.subject, initial_state=600, final_state=600),
        **_lists(request.call.subject, 200, "transitions", "intermediate_artifacts", "recovery"),
    },
    "scenario.expansion": lambda request, _: _lists(
        request.call.subject, 260, "resources", "formats", "constraints", "success_conditions"
    ),
    "scenario.integration": _integration,
    "scenario.solution_reference": lambda request, _: _texts(request.call.subject, solution_reference=1_700),
    "scenario.instruction_reference": _reference,
    "scenario.revision": _revision,
    "scenario.consistency": _consistency,
    "environment.manifest": _manifest,
    "environment.materials": _materials,
    "environment.repair": _materials,
    "authoring.instruction": _instruction,
    "authoring.solution": _solution,
    "authoring.verifier": _verifier,
    "repair.diagnose": _diagnose,
}
