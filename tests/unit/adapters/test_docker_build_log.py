"""What is kept of a build's stream, and which lines of it are the builder's own."""

from typing import Any

from facet_dagster.adapters.docker_build_log import MAX_LOG, BuildLog


def fed(*texts: str, error: str | None = None) -> tuple[BuildLog, list[str]]:
    containers: list[str] = []
    log = BuildLog(containers.append)
    messages: list[dict[str, Any]] = [{"stream": text} for text in texts]
    if error is not None:
        messages.append({"errorDetail": {"code": 1, "message": error}, "error": error})
    for message in messages:
        log.feed(message)
    return log, containers


def test_containers_and_layers_are_found() -> None:
    log, containers = fed(
        "Step 1/2 : FROM x",
        "\n",
        " ---> 86b85cc12114\n",
        "Step 2/2 : RUN y",
        " ---> Running in 838953badecf\n",
        " ---> aa\n",
    )
    assert containers == ["838953badecf"]
    assert log.last_layer == "86b85cc12114"


def test_the_failing_step_stays_whatever_came_before() -> None:
    early = [line for n in range(300) for line in (f"Step {n}/301 : RUN early {n} {'x' * 500}", "noise\n" * 400)]
    flood = ["the cause of it all\n", *("filler " * 50 + "\n" for _ in range(2_000)), "last words\n"]
    log, _ = fed(*early, "Step 300/301 : RUN make", *flood, error="returned a non-zero code: 2")
    text = log.text("closing line")
    assert len(text) <= MAX_LOG
    for kept in ("RUN early 299", "RUN make", "the cause of it all", "last words", "non-zero code: 2", "closing line"):
        assert kept in text
    assert "noise" not in text


def test_colours_and_credentials_are_not_kept() -> None:
    log, _ = fed("Step 1/1 : RUN z", "\x1b[91mfetching https://me:secret@index.example/simple\n\x1b[0m")
    assert "secret" not in log.text() and "\x1b" not in log.text()
    assert "https://***@index.example/simple" in log.text()
