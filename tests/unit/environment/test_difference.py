"""The difference of two observations holds what the task did, and no more."""

from facet_dagster.environment.observe import difference
from facet_dagster.records.environment import ObservedFile, ObservedState


def file(path: str, sha256: str | None = "a", **more: object) -> ObservedFile:
    values = {"type": "file", "size": 1, "mode": "0644", "owner": "agent"} | more
    return ObservedFile.model_validate({"path": path, "sha256": sha256} | values)


def state(*files: ObservedFile, listening: tuple[str, ...] = ()) -> ObservedState:
    return ObservedState(files=files, packages=(), tools={}, users=(), listening=listening)


def changes(before: ObservedState, after: ObservedState) -> list[tuple[str, str]]:
    return [(change.change, change.path) for change in difference(before, after).files]


def test_added_changed_and_removed_with_both_sides() -> None:
    before = state(file("/app/gone"), file("/app/kept"), file("/app/x", "a"))
    after = state(file("/app/kept"), file("/app/new"), file("/app/x", "b"))
    diff = difference(before, after)
    assert [(c.change, c.path) for c in diff.files] == [
        ("removed", "/app/gone"),
        ("added", "/app/new"),
        ("changed", "/app/x"),
    ]
    changed = diff.files[2]
    assert changed.before and changed.after and (changed.before.sha256, changed.after.sha256) == ("a", "b")


def test_mode_owner_type_and_target_count() -> None:
    before = state(
        file("/app/mode"), file("/app/owner"), file("/app/link", None, type="link", target="a"), file("/app/type")
    )
    after = state(
        file("/app/mode", mode="0600"),
        file("/app/owner", owner="root"),
        file("/app/link", None, type="link", target="b"),
        file("/app/type", None, type="dir"),
    )
    assert len(changes(before, after)) == 4


def test_files_too_large_for_a_hash_are_compared_by_size() -> None:
    assert changes(state(file("/app/big", None, size=5)), state(file("/app/big", None, size=6))) == [
        ("changed", "/app/big")
    ]


def test_a_repository_changes_with_its_description() -> None:
    one, two = (file("/app/.git", None, type="dir", sniffed=f"git repository: {n} commits") for n in (1, 2))
    assert changes(state(one), state(two)) == [("changed", "/app/.git")]


def test_what_tools_leave_behind_is_ignored() -> None:
    noise = ["/tmp/x", "/app/__pycache__/a.pyc", "/app/.pytest_cache/v", "/home/agent/.bash_history"]
    noise += ["/home/agent/.cache/pip/x", "/home/agent/.lesshst", "/home/agent/.viminfo"]
    assert difference(state(), state(*map(file, noise))).empty
    assert changes(state(), state(file("/home/agent/.gitconfig"))) == [("added", "/home/agent/.gitconfig")]


def test_listening_services_are_compared() -> None:
    diff = difference(state(listening=("tcp 0.0.0.0:80",)), state(listening=("tcp 0.0.0.0:81",)))
    assert (diff.listening_added, diff.listening_removed) == (("tcp 0.0.0.0:81",), ("tcp 0.0.0.0:80",))
