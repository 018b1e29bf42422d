"""The taxonomy: its shape, and that cues are found where they stand."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import facet_dagster.skills.taxonomy as taxonomy
from facet_dagster.records.skill import Family
from facet_dagster.skills.taxonomy import BODY_START, CATEGORIES, Place, place_of
from facet_dagster.skills.terms import Terms, words_of

TABLES = {name: Path(taxonomy.__file__).with_name(f"{name}.toml") for name in ("taxonomy", "reach")}


def test_five_families_hold_thirty_four_categories() -> None:
    assert len(CATEGORIES) == 34
    assert set(CATEGORIES.values()) == set(Family)


def cues() -> list[str]:
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in TABLES.values()]
    entries = [entry for table in tables for group in table.values() for entry in group.items()]
    texts = [text for key, text in entries if isinstance(text, str) and key != "what"]
    return [" ".join(cue.split()) for text in texts for cue in text.split(",")]


def test_cues_are_a_word_or_two_as_texts_have_them() -> None:
    assert len(cues()) > 900
    assert [cue for cue in cues() if not 1 <= len(words_of(cue)) <= 2 or " ".join(words_of(cue)) != cue] == []


def test_no_category_says_a_cue_twice() -> None:
    table = tomllib.loads(TABLES["taxonomy"].read_text(encoding="utf-8"))
    for categories in table.values():
        for category, text in categories.items():
            own = [" ".join(cue.split()) for cue in text.split(",")]
            assert len(own) == len(set(own)), category


@pytest.mark.parametrize(
    ("name", "description", "category"),
    [
        ("pdf-merging", "Merges PDF files.", "office-files"),
        ("memory-forensics", "Reads memory dumps after an incident.", "defence-and-forensics"),
        ("unit-tests", "Writes pytest suites.", "testing"),
        ("scanpy", "Single-cell RNA-seq.", "life-sciences"),
        ("x", "Kubernetes pods and Helm charts.", "cloud-and-containers"),
        ("subtitles", "Cuts video clips with ffmpeg.", "audio-and-video"),
    ],
)
def test_places(name: str, description: str, category: str) -> None:
    assert place_of(name, description, "") == Place(CATEGORIES[category], category)


def test_no_cue_no_place_and_the_end_of_a_body_says_nothing() -> None:
    assert place_of("xyz", "Does xyz.", "") is None
    assert place_of("xyz", "Does xyz.", " " * BODY_START + "sqlite") is None


def test_the_name_tells_more_than_the_body() -> None:
    place = place_of("sqlite", "", "git commit branch merge")
    assert place is not None and place.category == "databases"


def test_terms_count_words_and_pairs_with_and_without_a_plural() -> None:
    terms = Terms(["api key", "gpu", "c++", "aws"])
    assert terms.count("API keys: an api-key, api_key; GPUs in C++. Draws? Laws! aws") == {
        "api key": 3,
        "gpu": 1,
        "c++": 1,
        "aws": 1,
    }


@given(st.text(max_size=400))
def test_words_are_plain_and_lower_case(text: str) -> None:
    words = words_of(text)
    assert all(word.isascii() and word == word.lower() and word.replace("+", "a").isalnum() for word in words)
    assert words_of(" ".join(words)) == words
