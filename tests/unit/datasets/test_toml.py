"""What is written as TOML reads back as the same value."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.datasets import toml

SCALARS = st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=10
)


@given(VALUES)
def test_any_value_reads_back(value):
    assert tomllib.loads(f"x = {toml.value(value)}\n") == {"x": value}


@given(st.text())
def test_any_key_reads_back(name):
    assert tomllib.loads(f"{toml.key(name)} = 1\n") == {name: 1}


def test_none_is_left_out_and_half_a_surrogate_is_replaced():
    assert toml.value({"a": None, "b": [1, None]}) == "{ b = [1] }"
    assert tomllib.loads(f"x = {toml.value('a' + chr(0xD800))}")["x"] == "a\ufffd"


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="object"):
        toml.value(object())
