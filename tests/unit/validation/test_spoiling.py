"""One value changed: which, how, and what is left alone."""

import json

import pytest

from facet_dagster.validation.spoiling import change_value, other_number, other_word


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.csv", "name,n\na,1\nb,25\nc,3\n", "name,n\na,1\nb,27\nc,3\n"),
        ("a.csv", "name,date\nred,2024-01-01\nblue,2024-01-02\n", "name,date\nrfd,2024-01-01\nblue,2024-01-02\n"),
        ("a.csv", 'a,b\n"x, y",3\n', 'a,b\n"x, y",4\n'),
        ("a.csv", "a;b\r\n1,5;20\r\n", "a;b\r\n1,5;22\r\n"),
        ("a.tsv", "a\tb\nx\t10\n", "a\tb\nx\t11\n"),
        ("a.json", '{"n": 10, "id": 3}\n', '{"n": 11, "id": 3}\n'),
        ("a.json", '{\n  "s": "open",\n  "created_at": "x"\n}', '{\n  "s": "opfn",\n  "created_at": "x"\n}'),
        ("a.json", '[{"v":1.50}]', None),  # checked below: its layout is not one of the usual
        ("a.jsonl", '{"n": 1}\n{"n": 2}\n', '{"n": 1}\n{"n": 3}\n'),
        ("a.ini", "[a]\n# n = 1\nport = 8080\n", "[a]\n# n = 1\nport = 8888\n"),
        ("a.yaml", "name: web\nnote: free\n", "name: wfb\nnote: free\n"),
        ("total.txt", "42\n", "46\n"),
        ("names.txt", "alpha\nbeta\ngamma\n", "alpha\nbeua\ngamma\n"),
        ("r.md", "# Report\n\nIn all 1250 rows were read, of which some were bad.\n", "1375 rows"),
    ],
)
def test_the_middle_value_is_changed(path: str, text: str, expected: str | None) -> None:
    spoilt = change_value(path, text)
    assert spoilt is not None and spoilt.text != text and "became" in spoilt.what
    if expected is None:
        assert json.loads(spoilt.text) == [{"v": 1.6}]
    else:
        assert expected in spoilt.text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.csv", ""),
        ("a.csv", "name,n\n"),
        ("a.csv", "id,updated_at\n1,2024\n2,2024\n"),
        ("a.json", "{"),
        ("a.json", '{"generated_at": 17, "id": 3, "note": "x y"}'),
        ("a.json", "[" * 100_000),
        (
            "crontab",
            "SHELL=/bin/sh\n15 3 * * * root /usr/bin/pack nightly archive\n30 4 * * 1 root /usr/bin/prune it all\n",
        ),
        ("r.md", "The work was done in 2024 and it went well for all of us.\n"),
        ("r.md", "All is well and there is nothing that could be counted here.\n"),
        ("a.ini", "# port = 1\n; x = 2\n"),
    ],
)
def test_what_may_differ_is_left_alone(path: str, text: str) -> None:
    assert change_value(path, text) is None


def test_only_what_the_solution_changed_is_touched() -> None:
    before, after = "a = 1\nb = 2\nc = 3\nd = 4\n", "a = 1\nb = 2\nc = 3\nd = 40\n"
    spoilt = change_value("x.conf", after, before)
    assert spoilt is not None and spoilt.text == "a = 1\nb = 2\nc = 3\nd = 44\n"
    assert change_value("x.conf", before, before) is None
    changed = change_value("x.json", '{"a": 1, "b": 2, "c": 30}', '{"a": 1, "b": 2, "c": 3}')
    assert changed is not None and json.loads(changed.text) == {"a": 1, "b": 2, "c": 33}


@pytest.mark.parametrize(
    ("token", "other"),
    [("0", "1"), ("9", "10"), ("-20", "-18"), ("100", "110"), ("0.00", "0.10"), ("12.50", "13.75"), ("007", None)],
)
def test_numbers_stay_plausible(token: str, other: str | None) -> None:
    assert other_number(token) == other


def test_words_keep_their_kind() -> None:
    assert [other_word(word) for word in ("abc", "aFa", "a9b", "azb", "d41d8")] == ["acc", "aEa", "a0b", "aab", "d42d8"]
