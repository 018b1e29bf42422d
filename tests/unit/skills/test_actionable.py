"""What a terminal can act on, by rule: one sign decides, and the evidence names it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.skills.actionable import Actionability, judge_by_rules
from facet_dagster.skills.front_matter import Front, read_front_matter
from facet_dagster.skills.markdown import view

REPOSITORY = Path(__file__).parents[3]
SHELL = "```bash\nsort -u names.txt | comm -12 - other.txt > both.txt\nawk -F, '{print $2}' a.csv\njq . b.json\n```\n"


def judged(
    body: str, *, name: str = "csv-lists", description: str = "Joins lists.", siblings: tuple[str, ...] = ()
) -> Actionability:
    return judge_by_rules(name, description, view(body), siblings)


@pytest.mark.parametrize(
    ("body", "siblings", "verdict"),
    [
        ("Think about it with care.", (), "no"),
        ("```mermaid\ngraph\n```", (), "no"),
        ("Say `hello` to them.", (), "no"),
        ("Edit `config.yaml`.", (), "no"),
        ("Run `sort -u names.txt`.", (), "open"),
        ("Run `./vendor/bin/check validate --diff`.", (), "open"),
        ("Use the script.", ("scripts/run.py",), "open"),
        ("```python\nprint(1)\n```", (), "open"),
        ("```bash\npip install x\n```", (), "open"),
        ("```bash\npython3 scripts/run.py a\n```\n```bash\npython3 scripts/run.py b\n```", (), "open"),
        ("```bash\npython3 scripts/run.py a\n```", ("scripts/run.py",), "yes"),
        ("```bash\nsomebodys-tool a\n```\n```bash\nsomebodys-tool b\n```", (), "open"),
        ("```bash\ncurl -O http://x.invalid/a\ntar xf a\ngrep b c\n```", (), "open"),
        ("```python\nprint(1)\n```\n```rust\nfn main() {}\n```", (), "open"),
        ("```python\nprint(1)\n```\n" * 3, (), "yes"),
        (SHELL, (), "yes"),
    ],
)
def test_how_much_there_is_to_do_decides(body: str, siblings: tuple[str, ...], verdict: str) -> None:
    assert judged(body, siblings=siblings).verdict == verdict


@pytest.mark.parametrize(
    ("name", "description", "body", "sign"),
    [
        ("player", "Pushes audio to an iPhone.", SHELL, "iphone"),
        ("notion", "Manages pages.", SHELL + "Notion pages. Notion blocks. Notion keys. An api key.", "notion"),
        ("blobs", "Azure Blob storage for Python.", SHELL + "Azure and Azure again, with a subscription.", "azure"),
        ("tuning", "Fine-tuning of models.", "```python\nx\n```" * 9 + "gpu cuda vram gpu fine tuning", "fine tuning"),
        ("share", "Opens a pull request.", "`gh pr create` `gh pr view` `gh issue view` pull request", "pull request"),
        ("pages", "Drives a browser.", "`pages open x` browser playwright browser headless chromium", "browser"),
        ("team", "Runs a subagent per part.", "`x run y` subagent subagent spawn subagent claude", "subagent"),
        ("tests", "Tests for SwiftUI.", "```swift\nx\n``` swiftui xcode simulator xcodebuild `y run z`", "swiftui"),
    ],
)
def test_what_a_sealed_container_lacks_is_named(name: str, description: str, body: str, sign: str) -> None:
    result = judged(body, name=name, description=description)
    assert result.verdict == "no"
    assert sign in result.evidence.lower()


def test_much_local_work_leaves_a_soft_class_open() -> None:
    signs = "claude code, the skill, skill md. " * 3
    shell = "```bash\npython3 scripts/check.py skill\n```\n" * 2
    assert judged(shell + signs, name="check-skill", siblings=("scripts/check.py",)).verdict == "open"
    assert judged("Run `check it now`.\n" + signs, name="check-skill").verdict == "no"


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (SHELL + "Put the api key of the service into the file.", "yes"),
        (SHELL + "An api key, from your account.", "open"),
        (SHELL + "An api key or access token of your account; sign up.", "open"),
        ("Run `sort -u a`. An api key or access token of your account; sign up.", "no"),
        ("```bash\nsomebodys-tool login\nsort a\nuniq a\n```", "no"),
        ("```bash\nexport SOME_API_KEY=x\nsort a\nuniq a\n```", "no"),
        (SHELL + "```bash\nsomebodys-tool auth login\n```", "open"),
    ],
)
def test_signs_of_an_account_weigh_though_no_service_is_named(body: str, verdict: str) -> None:
    assert judged(body).verdict == verdict


def test_a_subject_for_people_is_not_kept_by_rule() -> None:
    assert judged(SHELL, name="roadmap-planning").verdict == "open"
    assert judged("Run `sort -u names.txt`.", name="roadmap-planning").verdict == "no"
    assert "planning-and-product" in judged(SHELL, name="roadmap-planning").evidence


def test_a_mere_mention_costs_nothing() -> None:
    text = "Exports of Notion or of Slack work as well; a GPU is not needed."
    assert judged(SHELL + text, description="Joins lists of lines, even for Slack.").verdict == "yes"


def test_the_place_comes_with_every_verdict() -> None:
    result = judged("Think.", name="sqlite-queries", description="SQL queries on a SQLite database.")
    assert (result.verdict, result.category) == ("no", "databases")


@given(
    st.text(max_size=300), st.text(max_size=300), st.text(max_size=2_000), st.lists(st.text(max_size=20), max_size=3)
)
def test_any_text_gets_a_verdict_with_evidence(name: str, description: str, text: str, siblings: list[str]) -> None:
    first = judge_by_rules(name, description, view(text), tuple(siblings))
    assert first.verdict in {"yes", "no", "open"}
    assert first.evidence
    assert first == judge_by_rules(name, description, view(text), tuple(siblings))


def test_the_sample_skills_are_all_kept_by_rule() -> None:
    verdicts = {}
    for file in (REPOSITORY / "data" / "skills").glob("*/SKILL.md"):
        front = read_front_matter(file.read_text(encoding="utf-8"))
        assert isinstance(front, Front)
        siblings = tuple(path.name for path in file.parent.rglob("*") if path.is_file() and path != file)
        values = front.values
        verdicts[values.name] = judge_by_rules(values.name, values.description, view(front.body), siblings).verdict
    assert len(verdicts) == 14
    assert set(verdicts.values()) == {"yes"}


@pytest.mark.parametrize(
    "text", ["gh " * 30_000, "```bash\n" + "a b\n" * 30_000, "`a b`" * 20_000, "api key " * 10_000]
)
def test_long_hostile_texts_get_a_verdict(text: str) -> None:
    assert judged(text).evidence
