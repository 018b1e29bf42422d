"""The report: counts that add up, JSON of a fixed shape, a page in which no task can say anything but text."""

import json
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from facet_dagster.audit.report import as_html, as_json, percent
from facet_dagster.records.audit import AuditedTask, AuditReport
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import Gate, GateResult

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\"'{{ 7*7 }}{% raw %}<!--"


def gate(name: Gate, passed: bool | None, evidence: str = "seen") -> GateResult:
    component, reason = (None, None) if passed else (Component.VERIFIER, Reason.NOOP_PASSED)
    return GateResult(gate=name, passed=passed, runs=2, evidence=evidence, component=component, reason=reason)


def a_report(text: str = "seen") -> AuditReport:
    good = AuditedTask(
        name="org/good", path="tasks/good", accepted=True, component=None, reason="every gate passed",
        gates=(gate(Gate.BUILD, True), gate(Gate.NOOP, True)), controls=2, killed=2, container_starts=9, seconds=4.0,
    )  # fmt: skip
    bad = AuditedTask(
        name=text, path=text, accepted=False, component=Component.VERIFIER, reason=text,
        gates=(gate(Gate.BUILD, True, text), gate(Gate.NOOP, False, text)), controls=6, killed=3, survivors=(text,),
        container_starts=3, seconds=1.0,
    )  # fmt: skip
    unsure = AuditedTask(
        name="org/open",
        path="tasks/open",
        accepted=None,
        component=None,
        reason="trouble",
        gates=(gate(Gate.BUILD, None),),
    )
    return AuditReport(directory=text, tasks=(good, bad, unsure), seconds=5.0)


class Tags(HTMLParser):
    """Every tag, and the text that is outside of them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: bytes) -> Tags:
    tags = Tags()
    tags.feed(page.decode())
    return tags


def test_counts_add_up() -> None:
    summary = a_report().summary()
    assert (summary.tasks, summary.accepted, summary.rejected, summary.open) == (3, 1, 1, 1)
    assert [(row.gate, row.passed, row.failed, row.open) for row in summary.gates] == [
        (Gate.BUILD, 2, 0, 1), (Gate.NOOP, 1, 1, 0),
    ]  # fmt: skip
    assert summary.components == {"verifier": 1}
    assert summary.container_starts == 12


def test_the_kill_rate_is_that_over_all_wrong_solutions() -> None:
    report = a_report()
    assert [task.kill_rate for task in report.tasks] == [1.0, 0.5, None]
    summary = report.summary()
    assert (summary.killed, summary.controls, summary.kill_rate) == (5, 8, 0.625)


def test_the_shape_of_the_json() -> None:
    document = json.loads(as_json(a_report()))
    assert set(document) == {"schema_version", "directory", "tasks", "summary"}
    assert set(document["tasks"][0]) >= {
        "name", "path", "accepted", "component", "reason", "gates", "kill_rate", "survivors", "container_starts"
    }  # fmt: skip
    assert [task["accepted"] for task in document["tasks"]] == [True, False, None]
    assert document["tasks"][1]["gates"][1] == {
        "gate": "G2-noop", "passed": False, "evidence": "seen", "runs": 2, "component": "verifier",
        "reason": "noop_passed",
    }  # fmt: skip
    assert document["summary"]["gates"][0] == {"gate": "G1-build", "passed": 2, "failed": 0, "open": 1}


def test_an_empty_report_is_a_report() -> None:
    report = AuditReport(directory="d", tasks=(), seconds=0)
    assert json.loads(as_json(report))["summary"]["kill_rate"] is None
    assert b"tasks" in as_html(report)


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    for tag, attributes in read(as_html(a_report(HOSTILE))).tags:
        assert tag not in {"script", "img", "link", "iframe", "object", "base", "form"}
        for name, value in attributes:
            assert not name.startswith("on") and name not in {"src", "action"}
            assert name != "href" or (value or "").startswith("#task-")


def test_hostile_text_is_text() -> None:
    page = read(as_html(a_report(HOSTILE)))
    assert page.text.count(HOSTILE) >= 4
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in read(as_html(a_report())).tags]


@settings(max_examples=50)
@given(st.text(alphabet=st.characters(), max_size=60))
def test_no_text_changes_the_page(text: str) -> None:
    try:
        report = a_report(text)
    except ValueError:  # half a surrogate pair is no text of a record
        return
    assert [tag for tag, _ in read(as_html(report)).tags] == [tag for tag, _ in read(as_html(a_report())).tags]
    assert json.loads(as_json(report))["directory"] == text


def test_a_rate_that_is_not_quite_one_is_not_shown_as_one() -> None:
    assert [percent(rate) for rate in (None, 1.0, 0.9999, 0.5, 0.0)] == ["–", "100%", "99.9%", "50%", "0%"]
