"""Every kind of source gives the same entries, and nothing of a source leads out of it."""

import base64
import io
import json
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facet_dagster.errors import SettingsError
from facet_dagster.records.skill import SkillEntry, SkillFault
from facet_dagster.skills.ingest import ingest
from facet_dagster.skills.sources.archive import ArchiveSource, Bounds
from facet_dagster.skills.sources.checkout import CheckoutSource
from facet_dagster.skills.sources.detect import open_source, open_sources
from facet_dagster.skills.sources.entry import MAX_BYTES, Entry
from facet_dagster.testing.memory_store import MemoryStore

FILES = {
    "group/sums/SKILL.md": b"sums",
    "group/sums/scripts/run.py": b"print()",
    "group/sums/inner/skill.MD": b"inner",
    "group/sums/inner/own.txt": b"x",
    "group/LICENSE": b"MIT License",
    "other/Skill.md": b"other",
    "other/LICENCE.txt": b"Apache License Version 2.0",
    "other/node_modules/x/SKILL.md": b"not ours",
}
EXPECTED = {
    "group/sums": (b"sums", ("scripts/run.py",), [("LICENSE", False)]),
    "group/sums/inner": (b"inner", ("own.txt",), [("LICENSE", False)]),
    "other": (b"other", ("LICENCE.txt",), [("LICENCE.txt", True)]),
}
Make = Callable[[Path, dict[str, bytes]], Path]


def as_folder(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (root / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "tree" / name).write_bytes(data)
    return root / "tree"


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", "-C", str(root), *identity, *arguments], capture_output=True, check=True, text=True)
    return done.stdout.strip()


def as_checkout(root: Path, files: dict[str, bytes]) -> Path:
    tree = as_folder(root, files)
    git(tree, "init", "-q")
    git(tree, "add", "--all", "--force")
    git(tree, "commit", "-qm", "all")
    return tree


def as_tar(root: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(root / "tree.tar.gz", "w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return root / "tree.tar.gz"


def as_zip(root: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(root / "tree.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return root / "tree.zip"


def entries(path: Path, name: str = "") -> dict[str, Entry]:
    return {entry.path: entry for entry in open_source(path, name).entries()}


def faults(found: dict[str, Entry]) -> dict[str, SkillFault | None]:
    return {path: entry.refusal.fault if entry.refusal else None for path, entry in found.items()}


@pytest.mark.parametrize("make", [as_folder, as_checkout, as_tar, as_zip])
def test_trees_of_every_kind_give_the_same_entries(make: Make, tmp_path: Path) -> None:
    found = entries(make(tmp_path, FILES))
    seen = {p: (e.data, e.siblings, [(each.name, each.own) for each in e.licences]) for p, e in found.items()}
    assert seen == EXPECTED
    assert {entry.source for entry in found.values()} == {"tree"}
    assert {entry.size for entry in found.values()} == {4, 5}


@pytest.mark.parametrize("make", [as_folder, as_checkout, as_tar, as_zip])
def test_only_the_beginning_of_a_huge_file_is_kept(make: Make, tmp_path: Path) -> None:
    entry = entries(make(tmp_path, {"big/SKILL.md": b"x" * (MAX_BYTES + 5)}))["big"]
    assert (len(entry.data), entry.size) == (MAX_BYTES, MAX_BYTES + 5)


@pytest.mark.parametrize(("make", "licensed"), [(as_folder, False), (as_tar, False), (as_checkout, True)])
def test_a_licence_at_the_root_counts_where_the_root_is_the_skills_repository(
    make: Make, licensed: bool, tmp_path: Path
) -> None:
    entry = entries(make(tmp_path, {"a/SKILL.md": b"a", "LICENSE": b"MIT License"}))["a"]
    assert [each.text for each in entry.licences] == (["MIT License"] if licensed else [])


def test_the_root_licence_of_a_collection_proves_nothing(tmp_path: Path) -> None:
    tree = as_checkout(tmp_path, {"LICENSE": b"MIT License", "a/SKILL.md": b"a", "b/SKILL.md": b"b", "b/COPYING": b"I"})
    git(tree, "remote", "add", "origin", "https://git.invalid/AgentWorkers/skills.git")
    source = CheckoutSource(tree)
    found = {entry.path: [each.text for each in entry.licences] for entry in source.entries()}
    assert source.name == "AgentWorkers/skills"
    assert found == {"a": [], "b": ["I"]}


def test_a_collection_is_known_by_its_remote_whatever_it_is_called(tmp_path: Path) -> None:
    tree = as_checkout(tmp_path, {"LICENSE": b"MIT License", "a/SKILL.md": b"a"})
    git(tree, "remote", "add", "origin", "git@git.invalid:AgentWorkers/skills")
    (entry,) = CheckoutSource(tree, "mine").entries()
    assert (entry.source, entry.licences) == ("mine", ())
    # The same clone among others in a folder.
    (entry,) = open_source(tmp_path, "clones").entries()
    assert (entry.source, entry.licences) == ("clones", ())


@pytest.mark.parametrize("make", [as_folder, as_tar, as_zip])
@pytest.mark.parametrize(("name", "top"), [("OpenClaw/skills", "skills-main"), ("", "openclaw-skills-0a1b2c3d")])
def test_nor_does_that_of_an_unpacked_collection(make: Make, name: str, top: str, tmp_path: Path) -> None:
    files = {"LICENSE": b"MIT License", "a/SKILL.md": b"a", "b/SKILL.md": b"b", "b/COPYING": b"I"}
    found = entries(make(tmp_path, {f"{top}/{path}": data for path, data in files.items()}), name)
    texts = {path: [each.text for each in entry.licences] for path, entry in found.items()}
    assert texts == {f"{top}/a": [], f"{top}/b": ["I"]}


def test_a_checkout_is_its_commit_and_nothing_else(tmp_path: Path) -> None:
    tree = as_checkout(tmp_path, {"a/SKILL.md": b"committed", "a/x.py": b"x"})
    (tree / "a" / "SKILL.md").write_bytes(b"edited")
    (tree / "a" / "untracked.py").write_bytes(b"y")
    (tree / "new").mkdir()
    (tree / "new" / "SKILL.md").write_bytes(b"new")
    source = CheckoutSource(tree)
    assert source.version == git(tree, "rev-parse", "HEAD")
    (entry,) = source.entries()
    assert (entry.data, entry.siblings) == (b"committed", ("x.py",))


def test_links_of_a_commit_stay_inside_it(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"outside")
    tree = as_folder(tmp_path, {"real/SKILL.md": b"real"})
    for name, target in {
        "in": "../real/SKILL.md",
        "out": "../../secret",
        "absolute": str(tmp_path / "secret"),
        "loop": "SKILL.md",
        "nothing": "gone",
    }.items():
        (tree / name).mkdir()
        (tree / name / "SKILL.md").symlink_to(target)
    found = entries(as_checkout(tmp_path, {}))
    assert found["in"].data == b"real" and found["in"].target == "real/SKILL.md"
    assert {path for path, fault in faults(found).items() if fault} == {"out", "absolute", "loop", "nothing"}
    assert all(entry.data != b"outside" for entry in found.values())


def test_a_repository_without_a_commit_is_one_line_of_trouble(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(SettingsError, match="git cannot read") as caught:
        open_source(tmp_path)
    assert "\n" not in str(caught.value)


def test_members_of_an_archive_never_lead_out(tmp_path: Path) -> None:
    path = tmp_path / "links.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind, target in (
            ("out/SKILL.md", tarfile.SYMTYPE, "../../etc/passwd"),
            ("absolute/SKILL.md", tarfile.SYMTYPE, "/etc/passwd"),
            ("hard/SKILL.md", tarfile.LNKTYPE, "real/SKILL.md"),
            ("pipe/SKILL.md", tarfile.FIFOTYPE, ""),
            ("../above/SKILL.md", tarfile.REGTYPE, ""),
            ("/etc/SKILL.md", tarfile.REGTYPE, ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
        member = tarfile.TarInfo("real/SKILL.md")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"real"))
    before = sorted(tmp_path.iterdir())
    found = entries(path)
    assert found["hard"].data == found["real"].data == b"real"
    assert {each for each, fault in faults(found).items() if fault} == {"out", "absolute", "pipe", "../above", "/etc"}
    assert sorted(tmp_path.iterdir()) == before


def test_links_and_traversal_in_a_zip(tmp_path: Path) -> None:
    path = tmp_path / "links.zip"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("in/SKILL.md")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "../real/SKILL.md")
        archive.writestr("real/SKILL.md", "real")
        archive.writestr("..\\windows/SKILL.md", "above")
    found = entries(path)
    assert found["in"].data == b"real"
    assert {each for each, fault in faults(found).items() if fault} == {"../windows"}


def test_a_bomb_is_refused_before_it_goes_off(tmp_path: Path) -> None:
    tar = as_tar(tmp_path, {"a/SKILL.md": b"a", "zeros": b"\0" * 200_000})
    for bounds, said in (
        (Bounds(unpacked=100_000), "unpacks to more than 100,000 bytes"),
        (Bounds(members=1), "has more than 1 members"),
        (Bounds(kept=0), "more than 0 bytes of skills"),
    ):
        with pytest.raises(SettingsError, match=rf"^\S+tree\.tar\.gz [a-z ]*{said}"):
            list(ArchiveSource(tar, "t", bounds).entries())


def test_a_header_that_wants_all_the_memory_is_damage(tmp_path: Path) -> None:
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.XHDTYPE, 1 << 40
    (tmp_path / "pax.tar").write_bytes(member.tobuf())
    with pytest.raises(SettingsError, match="cannot be read as an archive"):
        entries(tmp_path / "pax.tar")


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tar", "a.zip", "a.tar.xz", "a.tbz2", "a.parquet", "a.jsonl"])
@given(data=st.binary(max_size=300))
@settings(max_examples=25)
def test_rubbish_is_one_line_of_trouble(name: str, data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("rubbish") / name
    path.write_bytes(b"\x01" + data)
    with pytest.raises(SettingsError) as caught:
        assert list(open_source(path).entries()) == []
        raise SettingsError("an empty tar is no trouble")
    assert "\n" not in str(caught.value)


def test_a_zip_whose_names_are_no_utf8_is_one_line_of_trouble(tmp_path: Path) -> None:
    path = as_zip(tmp_path, {"é/SKILL.md": b"a"})
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xff"))
    with pytest.raises(SettingsError, match="cannot be read as an archive"):
        entries(path)


def test_a_member_whose_own_name_differs_is_refused_alone(tmp_path: Path) -> None:
    path = as_zip(tmp_path, {"é/SKILL.md": b"a", "b/SKILL.md": b"b"})
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xff", 1))  # in the member's header only
    assert faults(entries(path)) == {"b": None, "é": SkillFault.UNREADABLE}


ROWS = [
    {"repo": "a/b", "path": "x/SKILL.md", "text": "één", "licence": "MIT", "sibling_files": ["z.py", "a.md"]},
    {"repo": "a/b", "path": "SKILL.md", "raw_b64": base64.b64encode(b"\xff").decode()},
    {"repo": "a/b", "path": "x/skill.md", "text": "a second file of one folder"},
    {"repo": "AgentWorkers/skills", "path": "y/SKILL.md", "text": "y", "licence": "MIT"},
    {"repo": "AgentWorkers/skills", "path": "o/SKILL.md", "text": "o", "licence": "MIT", "sibling_files": ["LICENSE"]},
    {"repo": None, "path": "l/SKILL.md", "text": "", "symlink_target": "../x/SKILL.md"},
    {"repo": None, "path": "n/SKILL.md", "text": None},
    {"repo": None, "path": "broken/SKILL.md", "raw_b64": "###"},
]
COLUMNS = ("repo", "path", "text", "raw_b64", "licence", "symlink_target", "sibling_files")


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_a_dump_is_read_by_row(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"corpus.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist([{name: row.get(name) for name in COLUMNS} for row in ROWS]), path)
    else:
        path.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n")
    found = {(entry.source, entry.path): entry for entry in open_source(path).entries()}
    assert list(found) == [
        ("a/b", "x"),
        ("a/b", "."),
        ("AgentWorkers/skills", "y"),
        ("AgentWorkers/skills", "o"),
        ("corpus", "l"),
        ("corpus", "n"),
        ("corpus", "broken"),
    ]
    first = found["a/b", "x"]
    assert (first.data, first.siblings) == ("één".encode(), ("a.md", "z.py"))
    assert [(each.text, each.own) for each in first.licences] == [("MIT", False)]
    assert found["a/b", "."].data == b"\xff"
    assert found["AgentWorkers/skills", "y"].licences == ()
    assert [(each.text, each.own) for each in found["AgentWorkers/skills", "o"].licences] == [("", True)]
    refused = {path: entry.refusal.fault for (_, path), entry in found.items() if entry.refusal}
    assert refused == {"l": SkillFault.DUPLICATE, "n": SkillFault.UNREADABLE, "broken": SkillFault.UNREADABLE}


def test_lone_surrogates_of_a_row_are_escaped(tmp_path: Path) -> None:
    odd = "\ud800"
    row = {"repo": f"a/{odd}", "path": f"{odd}/SKILL.md", "text": "x", "licence": odd, "sibling_files": [f"{odd}.py"]}
    linked = {"path": "l/SKILL.md", "text": "", "symlink_target": odd}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(linked))
    entry, link = open_source(tmp_path / "a.jsonl").entries()
    assert (entry.source, entry.path, entry.siblings) == ("a/\\ud800", "\\ud800", ("\\ud800.py",))
    assert link.refusal is not None
    assert ingest([open_source(tmp_path / "a.jsonl")], MemoryStore()).found == 2


def test_parquet_text_that_is_no_utf8_is_one_line_of_trouble(tmp_path: Path) -> None:
    bad = pa.array([b"\xff/SKILL.md"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"path": bad, "text": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(SettingsError, match="cannot be read as a dump"):
        entries(tmp_path / "a.parquet")


@pytest.mark.parametrize("line", ["[]", "{}", '{"path": 1, "text": ""}', "not json", '{"path": "a"}'])
def test_a_line_that_is_no_row_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(ROWS[0]) + "\n" + line)
    with pytest.raises(SettingsError, match="line 2"):
        list(open_source(tmp_path / "a.jsonl").entries())


def test_parquet_without_the_columns_is_no_dump(tmp_path: Path) -> None:
    pq.write_table(pa.table({"path": ["a"], "body": ["b"]}), tmp_path / "a.parquet")
    with pytest.raises(SettingsError, match="needs the columns path"):
        list(open_source(tmp_path / "a.parquet").entries())


def test_anything_else_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    os.mkfifo(tmp_path / "pipe.tar")
    for given_, said in (
        ("notes.txt", "is no source of skills"),
        ("pipe.tar", "is no source of skills"),
        ("nowhere", "does not exist"),
        ("name=nowhere", "does not exist"),
    ):
        with pytest.raises(SettingsError, match=said) as caught:
            open_sources([str(tmp_path / given_) if "=" not in given_ else given_])
        assert "\n" not in str(caught.value)
    with pytest.raises(SettingsError, match="no source"):
        open_sources([])


def test_two_sources_of_one_name_need_another_name(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        (tmp_path / parent / "skills").mkdir(parents=True)
    paths = [str(tmp_path / parent / "skills") for parent in ("a", "b")]
    with pytest.raises(SettingsError, match="two sources are called 'skills'"):
        open_sources(paths)
    assert [source.name for source in open_sources([paths[0], f"mine={paths[1]}"])] == ["skills", "mine"]


def test_parquet_bytes_that_are_no_utf8_refuse_their_own_row_only(tmp_path: Path) -> None:
    texts = pa.array([b"\xff" * 300, b"plain"], pa.binary())
    for number, kind in enumerate((pa.binary(), pa.string(), pa.large_binary())):
        column = texts.view(kind) if kind != pa.large_binary() else pa.array(texts.to_pylist(), kind)
        pq.write_table(pa.table({"path": ["a/SKILL.md", "b/SKILL.md"], "text": column}), tmp_path / f"{number}.parquet")
        found = entries(tmp_path / f"{number}.parquet")
        assert [found[name].data for name in ("a", "b")] == texts.to_pylist()
        store = MemoryStore()
        ingest([open_source(tmp_path / f"{number}.parquet")], store)
        faults = {entry.path: entry.fault for entry in store.rows(SkillEntry)}
        assert faults["a"] is SkillFault.UNREADABLE and faults["b"] is not SkillFault.UNREADABLE
