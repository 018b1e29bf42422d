"""What is read from tmux in control mode, however it is cut into pieces and whatever stands on the screen."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.rollout.tmux import KEPT_BYTES, ControlClient, StreamEnded, paste, quoted


class Script:
    """A stream whose answers are given: the marks that are asked for are put where MARK stands."""

    limit = None

    def __init__(self, said: bytes, step: int = 5) -> None:
        self._said = said
        self._step = step
        self.sent = b""

    async def send(self, data: bytes) -> None:
        self.sent += data
        mark = data.split(b"display-message -p ")[1].strip()
        self._said = self._said.replace(b"MARK", mark)

    async def receive(self) -> bytes:
        data, self._said = self._said[: self._step], self._said[self._step :]
        return data

    async def close(self) -> None: ...


def block(number: int, text: bytes, *, ok: bool = True, by: int = 1) -> bytes:
    guard = b"1796011434 %d %d" % (number, by)
    return b"%begin " + guard + b"\n" + text + (b"%end " if ok else b"%error ") + guard + b"\n"


END = block(99, b"MARK\n")


async def ask(said: bytes, commands: int = 1, step: int = 5):
    return await ControlClient(Script(said, step)).ask(["x"] * commands)


@given(
    st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"])), max_size=9),
    st.integers(1, 99),
)
async def test_answers_are_what_was_printed(lines, step):
    text = "".join(f"{line}\n" for line in lines).encode()
    said = (
        b"%window-add @0\n" + block(1, b"hook\n", by=0) + block(2, text) + b"%layout-change\n" + block(3, b"", ok=False)
    )
    whole, failed = await ask(said + END, 2, step)
    assert whole.ok and whole.text == text.decode().rstrip("\n") and whole.size == len(text.rstrip(b"\n"))
    assert not failed.ok and failed.text == ""


async def test_what_looks_like_an_answer_on_the_screen_is_text():
    (answer,) = await ask(block(1, b"%begin 5 5 1\n%end 5 5 1\n%exit\n%end 1796011434 2 1\nx\n") + END)
    assert answer.text.endswith("%exit\n%end 1796011434 2 1\nx")


async def test_an_end_forged_on_the_screen_is_found_out():
    forged = b"%end 1796011434 1 1\n%begin 1796011434 7 1\nmine\n%end 1796011434 7 1\n"
    with pytest.raises(StreamEnded, match="cannot be read"):
        await ask(block(1, forged) + END)


async def test_commands_at_once_are_one_line_and_end_with_the_first_that_failed():
    script = Script(block(1, b"") + block(2, b"one\n") + block(3, b"no\n", ok=False) + END)
    answers = await ControlClient(script).ask_at_once(["x", "y", "z"], "main")
    assert [(answer.ok, answer.text) for answer in answers] == [(True, "one"), (False, "no")]
    assert script.sent.startswith(b'run-shell -t main -C "x ; y ; z"\n')
    (gone,) = await ControlClient(Script(block(1, b"can't find session\n", ok=False) + END)).ask_at_once(["x"], "main")
    assert not gone.ok
    with pytest.raises(StreamEnded, match="cannot be read"):
        await ControlClient(Script(block(1, b"") + block(2, b"one\n") + END)).ask_at_once(["x", "y"], "main")
    with pytest.raises(StreamEnded, match="cannot be read"):
        await ControlClient(Script(END)).ask_at_once(["x"], "main")


async def test_of_a_flood_head_and_tail_are_kept_and_all_of_it_counted():
    flood = b"".join(b"%d\n" % n for n in range(100_000))
    (answer,) = await ask(block(1, flood) + END, step=32_768)
    assert answer.size == len(flood) - 1 and len(answer.text) == 2 * KEPT_BYTES
    assert answer.text.startswith("0\n1\n") and answer.text.endswith("\n99999")
    (empty,) = await ask(block(1, b"\n" * 100_000) + END, step=32_768)
    assert (empty.text, empty.size) == ("", 0)


async def test_bytes_that_are_no_text_do_no_harm():
    (answer,) = await ask(block(1, b"\xff\xfe\x80 ok\n") + END)
    assert answer.text == "\ufffd\ufffd\ufffd ok" and answer.size == 6


@pytest.mark.parametrize(
    ("rest", "reason"), [(b"%exit\n", "has ended"), (b"no server running\n", "no server"), (b"", "has ended")]
)
async def test_an_end_gives_its_reason_and_the_answers_before_it(rest, reason):
    with pytest.raises(StreamEnded, match=reason) as ended:
        await ask(block(1, b"one\n") + rest, 2)
    assert [answer.text for answer in ended.value.answers] == ["one"]


@given(st.binary(max_size=200).filter(lambda data: 0 not in data))
def test_a_quoted_word_stands_for_its_bytes_on_one_line(data):
    word = quoted(data)
    assert "\n" not in word and not set(word[1:-1]) & set("\"$#~{};'%")
    assert re.sub(rb"\\(\d{3})", lambda m: bytes([int(m[1], 8)]), word[1:-1].encode()) == data


def test_a_zero_is_a_key_of_its_own():
    assert list(paste("a\0", "main"))[2] == "send-keys -t main -H 00" and "\\000" not in "".join(paste("a\0b", "main"))
