"""Output within a byte limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.adapters.docker_output import BoundedOutput


def collected(limit: int, *chunks: bytes) -> BoundedOutput:
    output = BoundedOutput(limit)
    for chunk in chunks:
        output.add(chunk)
    return output


def test_what_fits_is_kept_as_it_came() -> None:
    output = collected(10, b"01234", b"56", b"789")
    assert (output.text(), output.truncated) == ("0123456789", False)


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_the_middle_goes(size: int) -> None:
    data = b"head" + b"." * 10_000 + b"tail"
    output = collected(8, *(data[i : i + size] for i in range(0, len(data), size)))
    assert output.text() == "head\n[... 10000 bytes left out ...]\ntail"
    assert output.truncated


@given(st.lists(st.binary(max_size=50)), st.integers(min_value=2, max_value=100))
def test_never_more_than_the_limit_and_never_less_than_it_could(chunks: list[bytes], limit: int) -> None:
    data = b"".join(chunks)
    output = collected(limit, *chunks)
    assert output.truncated == (len(data) > limit)
    if not output.truncated:
        assert output.text() == data.decode(errors="replace")
