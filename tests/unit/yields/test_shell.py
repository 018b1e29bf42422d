"""Shell text to commands: real constructs are read as bash reads them, and no text whatever breaks the reader."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.yields.observing import Kind, kind_of, program_observes
from facet_dagster.yields.shell import shell_commands, unfinished

LOOKS, ACTS, NONE = Kind.OBSERVE, Kind.ACT, Kind.NEITHER
READ = [
    ("cat a.txt", "cat", [LOOKS]),
    ("ls -la | grep x | wc -l", "ls grep wc", [LOOKS, LOOKS, LOOKS]),
    ("cd x && cat a | sort > b", "cd cat sort", [NONE, LOOKS, ACTS]),
    ("cat > f << 'EOF'\nrm -rf $(x)\nEOF\nls", "cat ls", [ACTS, LOOKS]),
    ("cat <<EOF | grep a > z\nx\nEOF\n", "cat grep", [LOOKS, ACTS]),
    ("cat a 2>/dev/null", "cat", [LOOKS]),
    ("make 2>&1 >/dev/null", "make", [ACTS]),
    ("ls &> /tmp/log", "ls", [ACTS]),
    ("FOO=1 sudo -u x env A=b ls -la", "ls", [LOOKS]),
    ("A=1", "", []),
    ("timeout 5 bash -lc 'make test && ls' | tee log", "make ls tee", [ACTS, LOOKS, ACTS]),
    ("for f in *; do cat $f; done > out", "cat", [ACTS]),
    ("if [ -f x ]; then rm x; fi", "[ rm", [LOOKS, ACTS]),
    ("export A=$(cat f)", "export cat", [NONE, LOOKS]),
    ("diff <(sort a) <(sort b)", "diff sort sort", [LOOKS, LOOKS, LOOKS]),
    ("! grep -q x y || echo none", "grep echo", [LOOKS, NONE]),
    ("(cd /app; ./run.sh) &", "cd run.sh", [NONE, ACTS]),
    ("> f", ">", [ACTS]),
    ("ls | xargs rm -f", "ls rm", [LOOKS, ACTS]),
    ("/usr/bin/python3 --version", "python3", [LOOKS]),
    ("python3 -c 'print(1)'", "python3", [LOOKS]),
    ("python3 -c \"open('x', 'w')\"", "python3", [ACTS]),
    ("python3 - <<'PY' && ls\nimport json\nprint(json.load(open('a')))\nPY\n", "python3 ls", [LOOKS, LOOKS]),
    ("python3 fix.py", "python3", [ACTS]),
    ("sed -n 1,5p f; sed -i s/a/b/ f", "sed sed", [LOOKS, ACTS]),
    ("find . -name x; find . -delete", "find find", [LOOKS, ACTS]),
    ("git log; git branch -a; git checkout -b x; git -C /app status", "git git git git", [LOOKS, LOOKS, ACTS, LOOKS]),
    ("sqlite3 a.db 'select 1; .schema'; sqlite3 a.db 'delete from x'", "sqlite3 sqlite3", [LOOKS, ACTS]),
    ("tar tzf a.tgz; tar xzf a.tgz; unzip -l a.zip", "tar tar unzip", [LOOKS, ACTS, LOOKS]),
    ("curl -s http://x; curl -s http://x -o f", "curl curl", [LOOKS, ACTS]),
    ("pip list; pip install x", "pip pip", [LOOKS, ACTS]),
    ("tee /dev/null < x; no-such-thing", "tee no-such-thing", [LOOKS, ACTS]),
    ("sleep 5; true; echo done", "sleep true echo", [NONE, NONE, NONE]),
]


@pytest.mark.parametrize(("text", "names", "kinds"), READ)
def test_reads_what_is_run_and_what_it_does(text: str, names: str, kinds: list[Kind]) -> None:
    found = shell_commands(text + "\n")
    assert " ".join(command.name for command in found) == names
    assert [kind_of(command) for command in found] == kinds


@pytest.mark.parametrize(
    ("program", "observes"),
    [
        ("print(open('a').read())", True),
        ("import sys; sys.stdout.write('x')", True),
        ("import pandas as pd; print(pd.read_csv('a').copy().describe())", True),
        ("c.execute('select 1')", True),
        ("c.execute('drop table x')", False),
        ("open(p, mode)", False),
        ("open(p, mode='a')", False),
        ("Path('a').write_text('x')", False),
        ("Path('a').open('w')", False),
        ("import shutil; shutil.move('a', 'b')", False),
        ("import subprocess; subprocess.run(['ls'])", False),
        ("print 'python 2'", False),
    ],
)
def test_programs_given_as_text_are_read_too(program: str, observes: bool) -> None:
    assert program_observes(program) is observes


def test_an_open_here_document_is_not_at_its_end() -> None:
    assert unfinished("cat > f << 'EOF'\nabc\n") and not unfinished("cat > f << 'EOF'\nabc\nEOF\n")
    assert not unfinished("cat <<-E\n\tx\n\tE\n") and not unfinished("ls\n")


PIECES = st.sampled_from(
    ["cat ", "<<E\n", "E\n", "|", "&&", ";", "$(", ")", "`", "'", '"', "{ ", "}", "> ", "x", "\n", "bash -c ", "if ",
     "fi", "\\", "$", "#", "((", "[[ ", "eval ", "sudo ", "python3 -c ", "é", "\x00", "\x1b[", "for i in "]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join)))
def test_no_text_breaks_the_reader(text: str) -> None:
    for command in shell_commands(text):
        assert command.name == command.name.strip() or command.name
        assert kind_of(command) in Kind
    assert unfinished(text) in {True, False}


@pytest.mark.parametrize(
    "text", ["(" * 5_000, "$(" * 5_000, "a|" * 30_000, "<<E\n" * 3_000, "{ " * 5_000, "\ud800 ls\n"]
)
def test_monstrous_text_is_given_up_or_read(text: str) -> None:
    assert isinstance(shell_commands(text), list)


@given(st.text())
def test_no_program_breaks_the_reader(program: str) -> None:
    assert program_observes(program) in {True, False}
