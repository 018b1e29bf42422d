"""Which small files an author is shown in full: rules before data, within bounds."""

from facet_dagster.authoring.texts import RESULT_FILE, RULE_FILE, RULE_ROOM, result_texts, rule_texts
from facet_dagster.records.authoring import FileChange, StateDiff
from facet_dagster.records.container import Command, CommandResult, ContainerSpec
from facet_dagster.records.environment import ObservedFile, ObservedState
from facet_dagster.testing.sandbox import FakeContainer, FakeSandbox

SPEC = ContainerSpec(image="facet-env:1", seed="orders", purpose="look")


def file(path: str, data: bytes, sniffed: str = "text", sample: str | None = "first") -> ObservedFile:
    size = len(data)
    return ObservedFile(path=path, type="file", size=size, mode="0644", owner="agent", sniffed=sniffed, sample=sample)


def state(*files: ObservedFile) -> ObservedState:
    return ObservedState(files=files, packages=(), tools={}, users=(), listening=())


def _quiet(_: FakeContainer, command: Command) -> CommandResult:
    raise AssertionError(f"nothing is run: {command.script}")


async def shown(held: dict[str, bytes], *files: ObservedFile) -> dict[str, str]:
    async with FakeSandbox(_quiet, {"facet-env:1": held}).open(SPEC) as container:
        return await rule_texts(container, state(*files))


async def test_documents_come_before_settings_and_programs() -> None:
    held = {"/app/run.sh": b"x", "/app/RULES.md": b"rules, long", "/app/a.toml": b"[a]", "/app/README": b"read"}
    assert list(await shown(held, *(file(path, data) for path, data in held.items()))) == [
        "/app/README",
        "/app/RULES.md",
        "/app/a.toml",
        "/app/run.sh",
    ]


async def test_data_and_what_is_no_text_is_left_to_looks() -> None:
    held = {"/app/a.csv": b"a", "/app/b": b"b", "/app/c.log": b"c", "/app/d.png": b"d", "/etc/x.md": b"x"}
    files = (
        file("/app/a.csv", b"a", "CSV 1 rows: a:int"),
        file("/app/b", b"b", "JSON lines: 1 lines of {}"),
        file("/app/c.log", b"c"),
        file("/app/d.png", b"d", "PNG image", None),
        file("/etc/x.md", b"x"),
    )
    assert await shown(held, *files) == {}


async def test_bounds_hold_for_one_file_and_for_all() -> None:
    held = {f"/app/{n}.md": b"r" * (RULE_FILE - 1) for n in range(4)} | {"/app/long.md": b"r" * (RULE_FILE + 1)}
    texts = await shown(held, *(file(path, data) for path, data in held.items()))
    assert list(texts) == ["/app/0.md"] and sum(map(len, texts.values())) <= RULE_ROOM


async def test_results_are_those_of_the_final_state() -> None:
    held = {"/app/out.csv": b"a,b\n", "/app/big.csv": b"x" * (RESULT_FILE + 1)}
    diff = StateDiff(
        files=(
            FileChange(path="/app/out.csv", change="added", after=file("/app/out.csv", b"a,b\n", "CSV 0 rows: a:?")),
            FileChange(path="/app/big.csv", change="changed", after=file("/app/big.csv", held["/app/big.csv"])),
            FileChange(path="/app/gone", change="removed", before=file("/app/gone", b"x")),
        )
    )
    async with FakeSandbox(_quiet, {"facet-env:1": held}).open(SPEC) as container:
        assert await result_texts(container, diff) == {"/app/out.csv": "a,b\n"}
