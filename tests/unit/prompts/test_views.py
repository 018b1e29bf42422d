"""How records are shown to a model: bounded, whole entries, nothing lost silently."""

from facet_dagster.prompts.views import show_diff, show_state
from facet_dagster.records.authoring import FileChange, StateDiff
from facet_dagster.records.environment import ObservedFile, ObservedState


def entry(path: str, sample: str | None = None) -> ObservedFile:
    return ObservedFile(path=path, type="file", size=3, mode="0644", owner="agent", sniffed="text", sample=sample)


def state(files: list[ObservedFile]) -> ObservedState:
    return ObservedState(files=tuple(files), packages=("jq=1",), tools={"git": "2"}, users=("agent",), listening=())


def test_a_small_state_is_shown_whole() -> None:
    shown = show_state(state([entry("/app/a.txt", "one\ntwo")]))
    for expected in ("/app/a.txt (file, 3 B, 0644, agent) | text", "    one\n    two", "jq=1", "git: 2", "agent"):
        assert expected in shown


def test_samples_go_before_entries_do() -> None:
    shown = show_state(state([entry(f"/app/{n}.txt", "x" * 200) for n in range(20)]), limit=2_000)
    assert "/app/19.txt" in shown and "xxx" not in shown


def test_what_does_not_fit_is_counted() -> None:
    shown = show_state(state([entry(f"/app/{n}.txt") for n in range(500)]), limit=1_500)
    assert len(shown) < 1_700 and "more" in shown.splitlines()[-5]


def test_a_difference_names_each_kind_of_change() -> None:
    before, after = entry("/app/b"), entry("/app/b", "new")
    changes = (
        FileChange(path="/app/a", change="added", after=entry("/app/a", "made")),
        FileChange(path="/app/b", change="changed", before=before, after=after),
        FileChange(path="/app/c", change="removed", before=entry("/app/c")),
    )
    shown = show_diff(StateDiff(files=changes, listening_added=("tcp 127.0.0.1:80",)))
    for expected in ("added /app/a", "    made", "changed /app/b", "removed /app/c", "now listening: tcp 127.0.0.1:80"):
        assert expected in shown


def test_no_difference_is_said() -> None:
    assert show_diff(StateDiff(files=())) == "nothing changed"
