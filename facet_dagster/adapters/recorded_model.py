"""A chat model that replays recorded answers of a real one, by the identity of the call; needs no endpoint."""

import hashlib
from pathlib import Path

from pydantic import ValidationError

from facet_dagster.errors import NoRecording, SettingsError
from facet_dagster.records.call import CallId, ChatRequest, Completion
from facet_dagster.records.recording import RecordedCall


class RecordedModel:
    """ChatModel over a folder of `*.jsonl` recordings. Raises SettingsError when the folder is missing or broken.

    `changed` lists the calls whose prompt is no longer the one that was answered: the replay goes on, the
    user is told.
    """

    def __init__(self, folder: Path) -> None:
        self._calls, self._digest = _load(folder)
        self.changed: list[str] = []

    @property
    def name(self) -> str:
        """A model name that changes with the recordings, so that no older answer is taken from a store."""
        return f"recorded-{self._digest[:12]}"

    async def complete(self, request: ChatRequest) -> Completion:
        """The recorded answer. Raises NoRecording where there is none."""
        recorded = self._calls.get(request.call)
        if recorded is None:
            raise NoRecording(
                f"no recorded answer for {request.call.label()}; to ask a real model set FACET_LLM_BASE_URL, "
                "FACET_LLM_API_KEY and FACET_MODEL_AUTHOR, FACET_MODEL_JUDGE, FACET_MODEL_TEACHER"
            )
        # By the prompt alone: what an opening quotes of a container (sizes, logs) differs from build to build.
        if recorded.prompt_hash != request.prompt_hash and request.call.label() not in self.changed:
            self.changed.append(request.call.label())
        return Completion(
            text=recorded.text,
            model=recorded.model,
            prompt_tokens=recorded.prompt_tokens,
            completion_tokens=recorded.completion_tokens,
            finish_reason=recorded.finish_reason,
            recorded=True,
        )


def _load(folder: Path) -> tuple[dict[CallId, RecordedCall], str]:
    """All recordings by identity, and a digest of the files."""
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise SettingsError(
            f"no recordings in {folder}: set FACET_RECORDINGS to a folder of *.jsonl files, "
            "or FACET_LLM_BASE_URL to ask a real model"
        )
    calls: dict[CallId, RecordedCall] = {}
    digest = hashlib.sha256()
    for file in files:
        data = file.read_bytes()
        digest.update(data)
        for number, line in enumerate(data.split(b"\n"), start=1):
            if not line.strip():
                continue
            call = _read(line, f"{file}:{number}")
            if calls.setdefault(call.call, call) != call:
                raise SettingsError(f"{file}:{number}: {call.call.label()} is recorded twice with different answers")
    return calls, digest.hexdigest()


def _read(line: bytes, where: str) -> RecordedCall:
    try:
        return RecordedCall.model_validate_json(line)
    except ValidationError as error:
        problem = error.errors()[0]
        raise SettingsError(
            f"{where} is no recording ({problem['msg']}): restore the file or record it again"
        ) from error
