"""Embeddings of an OpenAI-compatible endpoint: batches, retries, the ledger before use, unit vectors or an error."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

import numpy as np
import openai
from numpy.typing import NDArray
from openai.types import CreateEmbeddingResponse

from facet_dagster.adapters.openai_model import charged
from facet_dagster.adapters.openai_trouble import FAULTS, Endpoint, Unusable
from facet_dagster.errors import FacetError, ModelRefused, TextRefused
from facet_dagster.ports import Came, Ledger
from facet_dagster.records.base import digest_of
from facet_dagster.records.call import CallId, ChatRequest, Completion, Message, Role

STATION = "seeds.embed"

SHORTENINGS = 6  # of a refused text, each to a half: 100,000 characters are then less than 512 tokens

Floats = NDArray[np.float32]


class EndpointEmbedder:
    """Embedder over HTTP; at most `in_flight` batches of `batch` texts at a time.

    A batch that is refused is asked in halves, a single text that is refused is shortened: an over-long one costs its
    own tail and nothing else. Every answer is written to the ledger as a call of the role embedder, under the run that
    paid for it. Raises BudgetSpent, ModelRefused and ModelUnavailable as chat models do, once the calls in flight have
    ended.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: str,
        ledger: Ledger,
        *,
        run_id: str,
        variables: str,
        timeout_s: float,
        retries: int,
        batch: int,
        in_flight: int,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._endpoint = Endpoint(base_url, variables, api_key, timeout_s, retries, sleep)
        self._model = model
        self._ledger = ledger
        self._run_id = run_id
        self._batch = batch
        self._in_flight = in_flight

    async def embed(self, texts: Sequence[str], came: Came | None = None) -> Floats:
        """Unit vectors, one row per text, in the order of the texts."""
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        parts: dict[int, Floats] = {}

        def take(start: int, vectors: Floats) -> None:
            parts[start] = vectors
            if came:
                came(start, vectors)

        gate = asyncio.Semaphore(self._in_flight)
        troubles: list[FacetError] = []

        async with self._connect() as client:

            async def of(start: int) -> None:
                async with gate:
                    if troubles:
                        return
                    try:
                        await self._in_parts(client, start, texts[start : start + self._batch], take)
                    except FacetError as trouble:
                        troubles.append(trouble)

            await asyncio.gather(*map(of, range(0, len(texts), self._batch)))
        if troubles:
            raise troubles[0]
        return self._joined([parts[start] for start in sorted(parts)])

    async def _in_parts(self, client: openai.AsyncOpenAI, start: int, texts: Sequence[str], take: Came) -> None:
        """A batch, as a whole or, where its texts are refused, in ever smaller parts; what has come in stays."""
        try:
            take(start, await self._paid(client, texts))
            return
        except TextRefused as refusal:
            if len(texts) == 1:
                take(start, await self._shortened(client, texts[0], refusal))
                return
        middle = len(texts) // 2
        await self._in_parts(client, start, texts[:middle], take)
        await self._in_parts(client, start + middle, texts[middle:], take)

    async def _shortened(self, client: openai.AsyncOpenAI, text: str, refusal: TextRefused) -> Floats:
        """The vector of the longest beginning that is taken. Raises the refusal of the whole text where none is."""
        for _ in range(SHORTENINGS):
            if len(text) < 2:
                break
            text = text[: len(text) // 2]
            with suppress(TextRefused):
                return await self._paid(client, [text])
        raise refusal

    def _joined(self, parts: Sequence[Floats]) -> Floats:
        lengths = sorted({part.shape[1] for part in parts})
        if len(lengths) > 1:
            raise self._senseless(f"vectors of {lengths[0]} and of {lengths[-1]} numbers")
        return np.concatenate(parts)

    async def _paid(self, client: openai.AsyncOpenAI, texts: Sequence[str]) -> Floats:
        """One batch: asked for, written to the ledger, and only then looked at."""
        await asyncio.to_thread(self._ledger.check)  # it may read what other processes have paid
        began = time.monotonic()
        try:
            answer = await self._endpoint.persistently(partial(self._once, client, texts))
        except FAULTS as error:
            raise self._endpoint.trouble(error, self._model, "embeddings") from None
        request = ChatRequest(
            call=CallId(station=STATION, subject=f"embeddings-{self._run_id}"),
            role=Role.EMBEDDER,
            messages=tuple(Message(role="user", content=text) for text in texts),
            prompt_hash=digest_of(""),  # there is no prompt around the texts
        )
        tokens = answer.usage.prompt_tokens if answer.usage else sum(map(len, texts)) // 4  # 4 characters a token
        self._ledger.write(
            request,
            Completion(
                text="",
                model=self._model,
                prompt_tokens=tokens,
                completion_tokens=0,
                seconds=time.monotonic() - began,
                estimated=answer.usage is None,
                reported_usd=charged(answer.usage),
            ),
        )
        return self._vectors(answer, len(texts))

    async def _once(self, client: openai.AsyncOpenAI, texts: Sequence[str]) -> CreateEmbeddingResponse:
        try:
            async with asyncio.timeout(self._endpoint.timeout_s):  # the client's own bound restarts with every byte
                answer = await client.embeddings.create(
                    model=self._model,
                    input=[text if text.strip() else "-" for text in texts],  # endpoints refuse empty texts
                    encoding_format="float",
                )
        except json.JSONDecodeError as error:
            raise Unusable("the answer is cut off") from error
        if isinstance(answer, str):  # what the client hands out when the content is not JSON
            raise ModelRefused(f"{self._endpoint.base_url} answered with a page, not JSON: check {self._endpoint.ends}")
        if not isinstance(answer, CreateEmbeddingResponse) or not answer.data:
            said = (getattr(answer, "model_extra", None) or {}).get("error") or "the answer holds no embeddings"
            raise Unusable(str(said))
        return answer

    def _vectors(self, answer: CreateEmbeddingResponse, count: int) -> Floats:
        rows = {item.index: item.embedding for item in answer.data}
        if sorted(rows) != list(range(count)) or len(answer.data) != count:
            raise self._senseless(f"{len(answer.data)} vectors for {count} texts")
        lengths = {len(row) for row in rows.values()}
        if len(lengths) > 1 or 0 in lengths:
            raise self._senseless(f"vectors of {min(lengths)} and of {max(lengths)} numbers")
        vectors = np.array([rows[index] for index in range(count)], dtype=np.float64)
        sizes = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(sizes).all() or not sizes.all():
            raise self._senseless("vectors that are not finite or have no length")
        return np.asarray(vectors / sizes, dtype=np.float32)

    def _senseless(self, what: str) -> ModelRefused:
        """Not a refusal of the texts: what was paid for is not asked for twice."""
        return ModelRefused(
            f"{self._endpoint.base_url} sent {what} as embeddings of model {self._model!r}: "
            f"check FACET_MODEL_EMBEDDER and {self._endpoint.variables}_BASE_URL"
        )

    def _connect(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(
            base_url=self._endpoint.base_url,
            api_key=self._endpoint.api_key or "none",  # servers without keys still want the header to be well-formed
            timeout=self._endpoint.timeout_s,
            max_retries=0,
        )
