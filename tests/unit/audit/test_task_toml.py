"""task.toml of any age and of any make: read for what it says, or a finding; nothing else ever comes out."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.audit.task_toml import TaskFile, megabytes, parse
from facet_dagster.datasets.toml import key, value

KEYS = ["task", "name", "environment", "agent", "verifier", "solution", "metadata", "steps", "user", "timeout_sec"]
KEYS += ["cpus", "memory", "memory_mb", "storage", "gpus", "env", "docker_image", "os", "workdir", "environment_mode"]
LEAVES = st.one_of(
    st.text(max_size=20), st.integers(), st.floats(), st.booleans(), st.sampled_from(["2G", "512M", "linux", "a/b"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8))
def test_any_document_is_read_or_refused(document: dict[str, object]) -> None:
    text = "\n".join(f"{key(name)} = {value(entry)}" for name, entry in document.items())
    declared, faults = parse(text.encode())
    assert isinstance(declared, TaskFile)
    assert all(isinstance(fault, str) and fault and "\n" not in fault[:40] for fault in faults)
    assert not faults or declared == TaskFile()


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    declared, faults = parse(data)
    assert isinstance(declared, TaskFile) and (not faults or declared == TaskFile())


@given(st.text(alphabet=string.printable + "äß漢\u202e\x00", max_size=200))
def test_any_text_as_a_name_comes_back_as_it_is(text: str) -> None:
    declared, faults = parse(f"[task]\nname = {value(text)}\n".encode())
    assert not faults and declared.task.name == text


@pytest.mark.parametrize("number", ["9" * 5_000, f"-{'9' * 5_000}"])
def test_a_number_without_end_is_not_toml_that_can_be_read(number: str) -> None:
    declared, faults = parse(f"[metadata]\nx = {number}\n".encode())
    assert declared == TaskFile() and len(faults) == 1 and len(faults[0]) < 200


@pytest.mark.parametrize("user", ["-1", f"0x{'f' * 5_000}"])
def test_a_user_is_a_name_or_a_number_that_a_system_can_have(user: str) -> None:
    assert "agent.user" in parse(f"[agent]\nuser = {user}\n".encode())[1][0]


def test_nesting_without_end() -> None:
    _, faults = parse(b"a = " + b"[" * 100_000)
    assert len(faults) == 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[agent]\ntimeout_sec = 'soon'\n", "agent.timeout_sec"),
        ("[agent]\ntimeout_sec = nan\n", "agent.timeout_sec"),
        ("[verifier]\ntimeout_sec = -1\n", "verifier.timeout_sec"),
        ("[environment]\ncpus = 0\n", "environment.cpus"),
        ("[environment]\ncpus = inf\n", "environment.cpus"),
        ("[environment]\nmemory_mb = 0\n", "environment.memory_mb"),
        ("[environment]\nos = 'plan9'\n", "environment.os"),
        ("[environment]\nmemory = 'lots'\n", "memory is not a size"),
        ("[environment]\nmemory = '2G'\nmemory_mb = 512\n", "contradict"),
        ("environment = 3\n", "environment"),
        ("[task]\nname = 7\n", "task.name"),
        ("[task\n", "not TOML"),
        ("\ufeff[task]\n", "not TOML"),
    ],
)
def test_what_is_wrong_is_named(text: str, fault: str) -> None:
    declared, faults = parse(text.encode())
    assert fault in faults[0]
    assert declared == TaskFile()


def test_old_keys_mean_what_they_meant() -> None:
    old = '[environment]\nmemory = "2G"\nstorage = "10G"\nallow_internet = true\nunknown = 1\n'
    declared, faults = parse(b'version = "1.0"\n' + old.encode())
    assert not faults
    assert (declared.environment.memory_mb, declared.environment.storage_mb) == (2048, 10240)
    assert declared.environment.os == "linux" and declared.environment.build_timeout_sec == 600


def test_old_and_new_keys_may_agree() -> None:
    declared, faults = parse(b'[environment]\nmemory = "2G"\nmemory_mb = 2048\n')
    assert not faults and declared.environment.memory_mb == 2048


@pytest.mark.parametrize(
    ("size", "wanted"),
    [("2G", 2048), ("512M", 512), ("1.5 gib", 1536), ("1048576", 1), ("", None), ("G", None), (3, None), ("-1G", None)],
)
def test_sizes(size: object, wanted: int | None) -> None:
    assert megabytes(size) == wanted
