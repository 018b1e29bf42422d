"""Reading folders of tasks: what is there, what is wrong in form, what is not supported; hostile folders included."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.audit.compose import read_compose
from facet_dagster.audit.folder import Tree, read_tree
from facet_dagster.audit.load import load_folder, load_task
from facet_dagster.errors import SettingsError
from facet_dagster.records.outcome import Component

TOML = '[task]\nname = "org/one"\n'
FILES = {
    "task.toml": TOML,
    "instruction.md": "Write /app/x.\n",
    "environment/Dockerfile": "FROM facet-base\nUSER worker\nWORKDIR /work\nCOPY data /work\n",
    "environment/data/in.bin": b"\xff\x00",
    "solution/solve.sh": "echo 1 > x\n",
    "tests/test.sh": "exit 0\n",
    "tests/sub/more.py": "",
}


def make(folder: Path, drop: tuple[str, ...] = (), **changes: str | bytes) -> Path:
    for name, content in {**FILES, **changes}.items():
        if name in drop:
            continue
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def faults(folder: Path) -> list[tuple[Component, str]]:
    return [(fault.component, fault.text) for fault in load_task(folder).faults]


def test_everything_lies_where_the_gates_look(tmp_path: Path) -> None:
    task = load_task(make(tmp_path / "t"))
    assert not task.faults and not task.obstacles and task.name == "org/one"
    candidate = task.candidate
    assert candidate is not None and candidate.image == "" and candidate.contract is None
    assert [file.path for file in candidate.context] == ["data/in.bin"]
    assert candidate.context[0].data() == b"\xff\x00"
    assert [file.path for file in candidate.solution] == ["/solution/solve.sh"]
    assert {file.path for file in candidate.tests} == {"/tests/test.sh", "/tests/sub/more.py"}
    assert (candidate.user, candidate.workdir) == ("worker", "/work")
    assert (candidate.solve_timeout_s, candidate.grade_timeout_s) == (900, 600)


def test_declarations_win(tmp_path: Path) -> None:
    toml = TOML + (
        '[agent]\nuser = 1000\ntimeout_sec = 7\n[verifier]\ntimeout_sec = 8\n[environment]\ncpus = 2\nmemory = "1G"\n'
        'workdir = "/w"\nbuild_timeout_sec = 9\nenv = { A = "${HOME:-x}y" }\n'
    )
    task = load_task(make(tmp_path / "t", **{"task.toml": toml}))
    assert task.candidate is not None and not task.obstacles
    assert (task.user, task.workdir) == ("1000", "/w")
    assert (task.candidate.user, task.candidate.workdir) == ("1000", "/w")
    assert (task.candidate.solve_timeout_s, task.candidate.grade_timeout_s, task.build_timeout_s) == (7, 8, 9)
    assert (task.candidate.limits.cpus, task.candidate.limits.memory_mb) == (2, 1024)
    assert task.env == {"A": "xy"}


@pytest.mark.parametrize(
    ("missing", "component"),
    [
        ("task.toml", Component.TASK),
        ("instruction.md", Component.INSTRUCTION),
        ("environment/Dockerfile", Component.ENVIRONMENT),
        ("tests/test.sh", Component.VERIFIER),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, missing: str, component: Component) -> None:
    assert faults(make(tmp_path / "t", drop=(missing,))) == [(component, f"{missing} is missing")]


def test_a_task_without_solution_is_a_task(tmp_path: Path) -> None:
    task = load_task(make(tmp_path / "t", drop=("solution/solve.sh",)))
    assert task.candidate is not None and task.candidate.solution == ()


def test_a_solution_without_its_script_is_none(tmp_path: Path) -> None:
    folder = make(tmp_path / "t", drop=("solution/solve.sh",), **{"solution/notes.txt": "x"})
    assert faults(folder) == [(Component.SOLUTION, "solution/solve.sh is missing")]


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ('schema_version = "1.4"\n', "has no name"),
        ('[task]\nname = "one"\n', "'one' is not of the form org/name"),
        ('[task]\nname = "a/../b"\n', "org/name"),
        ('[task]\nname = "org/a\\nb"\n', "org/name"),
        (f'[task]\nname = "org/{"x" * 9000}"\n', "org/name"),
    ],
)
def test_names(tmp_path: Path, toml: str, said: str) -> None:
    (component, text) = faults(make(tmp_path / "t", **{"task.toml": toml}))[0]
    assert component is Component.TASK and said in text and len(text) < 400


def test_a_name_given_twice_is_a_fault_of_both(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make(tmp_path / name)
    make(tmp_path / "c", **{"task.toml": '[task]\nname = "org/two"\n'})
    tasks = {task.path.name: task.load() for task in load_folder(tmp_path)}
    assert [bool(tasks[name].faults) for name in "abc"] == [True, True, False]
    assert load_folder(tmp_path, ["b"])[0].load().faults, "picked alone it is still not unique"


def test_the_canary_is_no_instruction(tmp_path: Path) -> None:
    text = "<!-- BENCHMARK canary GUID 1 -->\n# canary 2\nDo it.\n"
    task = load_task(make(tmp_path / "t", **{"instruction.md": text}))
    assert task.candidate is not None and task.candidate.instruction == "Do it.\n"


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe", b"<!-- canary x -->\n"])
def test_an_instruction_that_says_nothing(tmp_path: Path, content: bytes) -> None:
    assert faults(make(tmp_path / "t", **{"instruction.md": content}))[0][0] is Component.INSTRUCTION


def test_links_do_not_lead_out(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret")
    folder = make(tmp_path / "t")
    (folder / "environment/data/leak").symlink_to(tmp_path / "secret")
    (folder / "environment/data/gone").symlink_to("nowhere")
    (folder / "environment/data/loop").symlink_to("loop")
    (folder / "environment/data/same").symlink_to("in.bin")
    task = load_task(folder)
    assert {fault.text.split(":")[0] for fault in task.faults} == {
        f"environment/data/{n}" for n in ("leak", "gone", "loop")
    }
    assert "s3cret" not in repr(task)


@pytest.mark.parametrize("part", ["environment", "tests", "solution", "instruction.md", "task.toml"])
def test_a_part_that_is_a_link_out_is_not_read(tmp_path: Path, part: str) -> None:
    other = make(tmp_path / "other")
    folder = make(tmp_path / "t", drop=tuple(name for name in FILES if name.startswith(part)))
    (folder / part).symlink_to(other / part)
    assert any("leads out" in text for _, text in faults(folder))


def test_a_link_inside_is_read_as_its_file(tmp_path: Path) -> None:
    folder = make(tmp_path / "t")
    (folder / "tests/again.py").symlink_to("sub/more.py")
    task = load_task(folder)
    assert task.candidate is not None and "/tests/again.py" in {file.path for file in task.candidate.tests}


def test_a_pipe_does_not_hold_anybody_up(tmp_path: Path) -> None:
    folder = make(tmp_path / "t")
    os.mkfifo(folder / "environment/data/pipe")
    os.mkfifo(folder / "tests/pipe")
    assert [component for component, _ in faults(folder)] == [Component.ENVIRONMENT, Component.VERIFIER]


def test_names_that_are_not_text(tmp_path: Path) -> None:
    folder = make(tmp_path / "t")
    Path(os.fsdecode(os.fsencode(folder / "tests") + b"/\xff.py")).write_text("")
    assert "not UTF-8" in faults(folder)[0][1]
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    make(odd, drop=("task.toml",)).name.encode(errors="surrogateescape")
    load_task(odd).name.encode()


def test_too_much_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facet_dagster.audit.folder.MAX_BYTES", 10)
    task = load_task(make(tmp_path / "t", **{"environment/data/big": "x" * 11}))
    assert not task.faults and "too large" in task.obstacles[0]


@pytest.mark.parametrize("name", ["task.toml", "instruction.md"])
def test_a_text_that_is_too_long_is_told_its_own_limit(tmp_path: Path, name: str) -> None:
    (_, text) = faults(make(tmp_path / "t", **{name: "#" * 1_000_001}))[0]
    assert text == f"{name} is too large: at most 1 MB are read"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task.toml": TOML + "[environment]\ngpus = 1\n"}, "GPUs"),
        ({"task.toml": TOML + "[environment]\nos = 'windows'\n"}, "Windows"),
        ({"task.toml": TOML + "[[steps]]\nname = 'a'\n"}, "several steps"),
        ({"task.toml": TOML + "[verifier]\nenvironment_mode = 'separate'\n"}, "image of its own"),
        ({"task.toml": TOML + "[verifier]\nenv = { OPENAI_API_KEY = '${OPENAI_API_KEY}' }\n"}, "variables"),
        ({"task.toml": TOML + "[environment]\nenv = { TOKEN = '${TOKEN}' }\n"}, "host"),
        ({"tests/Dockerfile": "FROM x\n"}, "image of its own"),
        ({"environment/docker-compose.yaml": "services: {main: {}, db: {image: x}}\n"}, "besides main"),
        ({"environment/docker-compose.yaml": "{" * 50}, "cannot be read"),
        ({"environment/Dockerfile": "FROM a\nRUN <<E\nls\nE\n"}, "BuildKit"),
    ],
)
def test_what_is_not_supported_is_no_verdict(tmp_path: Path, change: dict[str, str], said: str) -> None:
    task = load_task(make(tmp_path / "t", **change))
    assert not task.faults and len(task.obstacles) == 1 and said in task.obstacles[0]


def test_an_image_may_stand_for_a_dockerfile(tmp_path: Path) -> None:
    toml = TOML + "[environment]\ndocker_image = 'facet-base'\n"
    task = load_task(make(tmp_path / "t", drop=("environment/Dockerfile",), **{"task.toml": toml}))
    assert task.candidate is not None and task.candidate.dockerfile == "FROM facet-base\n"


def test_a_folder_is_a_task_or_holds_tasks(tmp_path: Path) -> None:
    assert [task.name for task in load_folder(make(tmp_path / "a"))] == ["org/one"]
    make(tmp_path / "b", drop=("task.toml",))
    (tmp_path / "empty").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/x.md").write_text("")
    make(tmp_path / ".hidden")
    (tmp_path / "file").write_text("")
    found = load_folder(tmp_path)
    assert [task.path.name for task in found] == ["a", "b", "empty"]
    assert [bool(task.load().faults) for task in found] == [False, True, True]


@pytest.mark.parametrize("only", [["org/one"], ["a"], ["a", "org/one"]])
def test_only_some(tmp_path: Path, only: list[str]) -> None:
    make(tmp_path / "a")
    make(tmp_path / "b", **{"task.toml": '[task]\nname = "org/two"\n'})
    assert [task.name for task in load_folder(tmp_path, only)] == ["org/one"]


def test_files_are_read_when_their_task_has_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "a")
    make(tmp_path / "b", **{"task.toml": '[task]\nname = "org/two"\n'})
    read: list[str] = []

    def noted(folder: Path, task: Path) -> Tree:
        read.append(f"{task.name}/{folder.name}")
        return read_tree(folder, task)

    monkeypatch.setattr("facet_dagster.audit.load.read_tree", noted)
    (task,) = load_folder(tmp_path, ["org/two"])
    assert read == []
    assert task.load().candidate is not None
    assert read == ["b/environment", "b/solution", "b/tests"]


@pytest.mark.parametrize("part", ["", "tests", "environment/data"])
def test_a_folder_that_cannot_be_read_is_an_obstacle_of_its_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    make(tmp_path / "a")
    closed = make(tmp_path / "b", drop=() if part else ("task.toml",)) / part
    scandir, iterdir = os.scandir, os.listdir  # the tests may run as root, who may read anything

    def refuse(real: Callable[..., Any]) -> Callable[..., Any]:
        def called(place: Any = ".") -> Any:
            if Path(place) == closed:
                raise PermissionError(13, "Permission denied", str(place))
            return real(place)

        return called

    monkeypatch.setattr(os, "scandir", refuse(scandir))
    monkeypatch.setattr(os, "listdir", refuse(iterdir))
    tasks = {task.path.name: task.load() for task in load_folder(tmp_path)}
    assert set(tasks) == {"a", "b"}
    assert any("cannot be read: Permission denied" in text for text in tasks["b"].obstacles)
    if not part:
        assert not tasks["a"].faults and not tasks["b"].faults


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no task in"):
        load_folder(tmp_path)
    with pytest.raises(SettingsError, match="not a folder"):
        load_folder(tmp_path / "nowhere")
    make(tmp_path / "a")
    with pytest.raises(SettingsError, match="no task zzz"):
        load_folder(tmp_path, ["zzz"])


@pytest.mark.parametrize(
    ("declared", "compose", "asks"),
    [
        ("", "", True),
        ('network_mode = "no-network"', "", False),
        ('network_mode = "public"', "", True),
        ("allow_internet = false", "", False),
        ('network_mode = "public"', "services:\n  main:\n    network_mode: none\n", False),
        ("", "services:\n  main:\n", True),
    ],
)
def test_whether_a_task_asks_for_a_network(tmp_path: Path, declared: str, compose: str, asks: bool) -> None:
    (tmp_path / "environment").mkdir()
    (tmp_path / "task.toml").write_text(f'[task]\nname = "org/a"\n[environment]\n{declared}\n')
    if compose:
        (tmp_path / "environment" / "docker-compose.yaml").write_text(compose)
    assert load_task(tmp_path).network is asks


@pytest.mark.parametrize(
    "main",
    [
        "privileged: true",
        "volumes: ['/:/host']",
        "volumes: ['/var/run/docker.sock:/var/run/docker.sock:ro']",
        "volumes: [{type: bind, source: ~/.ssh, target: /k}]",
        "volumes: ['../../other:/x']",
        "network_mode: host",
        "pid: host",
        "devices: ['/dev/kvm:/dev/kvm']",
        "cap_add: [SYS_ADMIN]",
        "security_opt: ['apparmor:unconfined']",
        "pid: container:other",
        "network_mode: '${MODE:-host}'",
        "volumes: ['${HOME}:/x']",
        "volumes: ['$HOME/.ssh:/x']",
        "volumes: ['${NOWHERE:-/}:/x']",
        "volumes: [{type: bind, source: './${UP}/x', target: /x}]",
        "volumes_from: ['container:other']",
        "env_file: /etc/environment",
        "env_file: [in.env, ../../.env]",
        "env_file: [{path: '${HOME}/.env'}]",
        "init: true\nvolumes: {d: {driver_opts: {type: none, o: bind, device: /}}}",
        "init: true\nvolumes: {d: {driver_opts: {o: bind, device: '${HOME}'}}}",
        "init: true\nvolumes: {d: {driver_opts: {type: nfs, o: 'addr=127.0.0.1', device: ':/x'}}}",
        "init: true\nsecrets: {s: {file: /etc/shadow}}",
        "init: true\nsecrets: {s: {environment: OPENAI_API_KEY}}",
        "init: true\nconfigs: {c: {file: ../../x}}",
    ],
)
def test_a_compose_file_that_reaches_for_the_host_is_refused(tmp_path: Path, main: str) -> None:
    """Nothing of it is run here; elsewhere an agent would work with the host at hand."""
    folder = make(tmp_path / "t", **{"environment/docker-compose.yaml": f"services:\n  main:\n    {main}\n"})
    ((component, text),) = faults(folder)
    assert component is Component.ENVIRONMENT and "reaches for the host" in text and "\n" not in text
    assert load_task(folder).candidate is None


def test_a_compose_file_may_say_what_keeps_to_the_container(tmp_path: Path) -> None:
    volumes = "['data:/d', '${HOST_AGENT_LOGS_PATH}:/logs', './in:/in', 'tmp:/t']"
    main = f"services: {{main: {{init: true, volumes: {volumes}, pid: '', env_file: [in.env]}}}}\n"
    main += "volumes: {data: , tmp: {driver_opts: {type: tmpfs, device: tmpfs}}}\nsecrets: {s: {file: ./s}}\n"
    assert faults(make(tmp_path / "t", **{"environment/docker-compose.yaml": main})) == []


_BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 64))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{_BOMB}services: {{main: {{volumes: [*a63]}}}}\n", "aliases"),
        (f"{_BOMB}services: {{main: {{volumes: [{{source: *a63}}]}}}}\n", "aliases"),
        ("a: &a {x: y}\nservices: {main: {<<: *a}}\n", "aliases"),
        ("services: {main: {volumes: " + "[" * 50_000 + "\n", "cannot be read"),
        ("services: {main: {x: [" + "a, " * 100_000 + "]}}\n", "too large"),
        ("services: {main: {x: 1" + ":00" * 400 + ".5}}\n", "cannot be read"),
        ("services: {main: {extends: {file: other.yaml, service: main}}}\n", "extends"),
        ("include: [other.yaml]\nservices: {main: {}}\n", "include"),
    ],
)
def test_what_is_not_read_of_a_compose_file_is_an_obstacle(text: str, said: str) -> None:
    found = read_compose(text.encode())
    assert any(said in line for line in found.obstacles) and not found.faults


@pytest.mark.parametrize("value", ["0x" + "f" * 9_000, "[[x]]", "{source: [[x]]}", "{source: 1}", "2001-01-01"])
def test_what_is_no_text_is_no_path(value: str) -> None:
    parts = f"volumes: [{value}], env_file: [{value}]"
    tops = f"volumes: {{v: {value}}}\nsecrets: [{value}]\nconfigs: {{c: {{file: {value}}}}}\n"
    assert read_compose(f"services: {{main: {{{parts}}}}}\n{tops}".encode()).faults == ()


@given(st.binary(max_size=200))
def test_any_bytes_are_a_compose_file_or_not(data: bytes) -> None:
    said = read_compose(data)
    assert all("\n" not in line for line in (*said.faults, *said.obstacles))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device files")
def test_a_device_and_a_name_with_line_feeds_do_no_harm(tmp_path: Path) -> None:
    folder = make(tmp_path / "t")
    os.mknod(folder / "environment/data/zero", 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero never ends
    (folder / "tests/a\nRUN evil.py").write_text("")
    assert [text for _, text in faults(folder)] == ["environment/data/zero: neither file nor folder"]


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    folder = make(tmp_path / "t")
    with (folder / "tests/huge.bin").open("wb") as file:
        file.truncate(1 << 40)
    task = load_task(folder)
    assert task.obstacles == ("tests/huge.bin is too large: at most 200 MB are read",)
