"""The tests folder of a task: the skeleton's files, the verifier, and the e0 copies, as they lie under /tests.

Only the contents and modes belong here; running them stands in grade.py.
"""

from pathlib import Path

from facet_dagster.records.authoring import Verifier, at_tests
from facet_dagster.records.container import FileEntry

SKELETON = Path(__file__).parent.parent / "task_template" / "tests"
TESTS = "/tests"
READ_ONLY = 0o444
RUN_ONLY = 0o555


def contents_of_tests(verifier: Verifier) -> tuple[FileEntry, ...]:
    """Every file under /tests with its absolute path in the container."""
    skeleton = [
        FileEntry.of(f"{TESTS}/{file.name}", file.read_bytes(), RUN_ONLY if file.suffix == ".sh" else READ_ONLY)
        for file in sorted(SKELETON.iterdir())
        if file.is_file()
    ]
    tests = FileEntry(path=f"{TESTS}/test_outputs.py", content=verifier.test_file, mode=READ_ONLY)
    originals = [copy.model_copy(update={"mode": READ_ONLY}) for copy in at_tests(verifier.e0_copies)]
    return (*skeleton, tests, *originals)
