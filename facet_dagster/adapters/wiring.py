"""Settings to adapters: opens a workshop on the real outside world and leaves nothing behind in Docker.

The only place where the choice between the recorded and a live model is made.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from docker import DockerClient

from facet_dagster.adapters.base_image import base_tag, ensure_base
from facet_dagster.adapters.cached_embedder import CachedEmbedder
from facet_dagster.adapters.docker_builder import DockerImageBuilder
from facet_dagster.adapters.docker_calls import engine_errors
from facet_dagster.adapters.docker_debian import BOOTSTRAPPED, has_image
from facet_dagster.adapters.docker_sandbox import DockerSandbox
from facet_dagster.adapters.docker_sweep import remove_run, sweep_dead
from facet_dagster.adapters.endpoint_embedder import EndpointEmbedder
from facet_dagster.adapters.engine import answers, connect
from facet_dagster.adapters.engine_patience import PatientEngine
from facet_dagster.adapters.engine_pool import EnginePool, PoolEngine
from facet_dagster.adapters.harbor_engine import HarborEngine
from facet_dagster.adapters.harbor_leftovers import left_jobs, remove_containers
from facet_dagster.adapters.ledger import StoreLedger
from facet_dagster.adapters.metered_model import MeteredModel
from facet_dagster.adapters.minilm_embedder import LOCAL_MODEL, MiniLMEmbedder
from facet_dagster.adapters.openai_model import OpenAIModel
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.adapters.recorded_model import RecordedModel
from facet_dagster.errors import EngineUnavailable, InfrastructureError, SettingsError
from facet_dagster.ports import ChatModel, ImageBuilder, Ledger, Sandbox, Store
from facet_dagster.records.call import Role
from facet_dagster.scheme_stores import stores_beside
from facet_dagster.settings import Models, Price, Settings
from facet_dagster.workshop import Workshop

# What exported tasks start from, under the names by which tasks call it.
_DEBIAN = ("debian:bookworm-slim", "debian:bookworm", "debian:12-slim", "debian:12")
USUAL_IN_FLIGHT = 64  # commands at the same time
_BASE = ("facet-base", "facet-base:latest")


@dataclass(frozen=True)
class Engine:
    """The container engine for one run. `stand_ins`: local images by the public name that the engine lacks."""

    builder: ImageBuilder
    sandbox: Sandbox
    stand_ins: Mapping[str, str]
    cpus: float
    client: DockerClient


def _quiet(_line: str) -> None:
    """Nobody wants to know."""


@contextmanager
def open_workshop(settings: Settings, *, run_id: str, progress: Callable[[str], None] = _quiet) -> Iterator[Workshop]:
    """A workshop of one run; what dead runs left in Docker is swept first, what this one made is removed last.

    Raises SettingsError, StoreTooNew, EngineUnavailable and InfrastructureError, each with what to do.
    """
    store = ParquetStore(settings.store)
    models = settings.models
    inner, names, changed = _model(models)
    names = {**names, Role.EMBEDDER: models.embedder or LOCAL_MODEL}
    priced = {role: price for role in Role if (price := models.price(role))}
    ledger = _ledger(settings, store, names, priced, run_id)
    with _open_engines(settings, run_id, progress) as engine:
        _sweep_harbor(settings, progress)
        yield Workshop(
            model=MeteredModel(inner, store=store, ledger=ledger, names=names, in_flight=models.in_flight),
            embedder=_embedder(models, store, ledger, run_id, progress),
            builder=engine.builder,
            sandbox=engine.sandbox,
            store=store,
            ledger=ledger,
            run_id=run_id,
            out=settings.out,
            organisation=settings.organisation,
            model_names=names,
            harbor=_harbor(settings),
            changed_prompts=changed,
            seeding=settings.seeding,
            construction=settings.construction,
            rollouts=settings.rollouts,
            sft=settings.sft,
        )


@dataclass(frozen=True)
class Asked:
    """A model under its own name, metered; `recorded` answers are replayed."""

    model: ChatModel
    ledger: Ledger
    recorded: bool


def open_models(settings: Settings, names: Sequence[str], store: Store, run_id: str) -> dict[str, Asked]:
    """These models of the endpoint as teachers, on one budget, each at its own price where that is known.

    Without an endpoint the recordings answer for all of them. Raises SettingsError.
    """
    models = settings.models
    account: StoreLedger | None = None
    opened = {}
    for name in names:
        inner, called, _ = _model(models.model_copy(update={"teacher": name}))
        price = models.price(Role.TEACHER, name)
        if settings.budget.in_dollars and models.base_url and price is None:
            raise SettingsError(f"a budget in US dollars needs a price for {name}: set FACET_PRICE_TEACHER")
        priced = {Role.TEACHER: price} if price else {}
        if account is None:
            account = _ledger(settings, store, called, priced, run_id)
        ledger = account.beside(called, _per_million(priced))
        metered = MeteredModel(inner, store=store, ledger=ledger, names=called, in_flight=models.in_flight)
        opened[name] = Asked(metered, ledger, models.base_url is None)
    return opened


def _ledger(
    settings: Settings, store: Store, names: Mapping[Role, str], prices: Mapping[Role, Price], run_id: str
) -> StoreLedger:
    budget = settings.budget
    return StoreLedger(
        store,
        names=names,
        prices=_per_million(prices),
        budget_tokens=budget.tokens,
        budget_usd=budget.usd,
        day_tokens=budget.day_tokens,
        day_usd=budget.day_usd,
        run_id=run_id,
        beside=[ParquetStore(root) for root in stores_beside(settings.store)] if budget.of_a_day else (),
    )


def _per_million(prices: Mapping[Role, Price]) -> dict[Role, tuple[float, float]]:
    return {role: (price.prompt, price.completion) for role, price in prices.items()}


@contextmanager
def _open_engines(settings: Settings, run_id: str, progress: Callable[[str], None]) -> Iterator["Engine | _Pool"]:
    """The one engine that answers here, or those that the settings name, without those that do not answer."""
    in_flight = settings.rollouts.in_flight + settings.construction.seeds_in_flight
    starts, cache = settings.rollouts.starts, settings.package_cache
    opened_with = partial(open_engine, run_id, progress, in_flight=in_flight, starts=starts, package_cache=cache)
    hosts = tuple(dict.fromkeys(settings.docker_hosts))
    if len(hosts) < 2:
        host = hosts[0] if hosts else None
        with opened_with(host=host) as engine:
            yield engine
        return
    with ExitStack() as stack:
        engines = []
        for host in hosts:
            try:
                opened = stack.enter_context(opened_with(host=host, patient=False))
            except InfrastructureError as error:
                progress(f"the engine {host} is left out: {error}")
                continue
            alive, ready = partial(answers, opened.client), partial(_has_base, opened.client)
            engines.append(PoolEngine(host, opened.builder, opened.sandbox, opened.cpus, alive, ready))
        if not engines:
            raise EngineUnavailable(f"no engine of FACET_DOCKER_HOSTS answers: {', '.join(settings.docker_hosts)}")
        pool = EnginePool(engines, progress)
        waiting = PatientEngine(pool, pool, pool.answers, progress)
        yield _Pool(waiting, waiting)


async def _has_base(client: DockerClient) -> bool:
    """Whether the engine has what seeds are built on; not so a machine that was set up anew."""

    def look() -> bool:
        with suppress(InfrastructureError), engine_errors("look for the base image"):
            return has_image(client, base_tag())
        return False

    return await asyncio.to_thread(look)


@dataclass(frozen=True)
class _Pool:
    """Several engines as one."""

    builder: ImageBuilder
    sandbox: Sandbox


@contextmanager
def open_engine(
    run_id: str,
    progress: Callable[[str], None] = _quiet,
    *,
    host: str | None = None,
    in_flight: int = 0,
    starts: int | None = None,
    patient: bool = True,
    package_cache: str | None = None,
) -> Iterator[Engine]:
    """The engine with the base image. Sweeps what dead runs left there first, and what this one made last.

    `host`: its address; None is what DOCKER_HOST says. `in_flight`: containers in which something runs at the same
    time, where they are more than usual. `starts`: containers that start at the same time; None is two for each of the
    engine's CPUs. `patient`: new work waits for an engine that is restarted, since there is no other. `package_cache`:
    where builds fetch packages, in place of the mirrors (Settings).
    """
    client = connect(host)
    with engine_errors("sweep what dead runs left behind"):
        swept = sweep_dead(client)
    if swept:
        progress(f"removed {swept} container(s) and image(s) that a dead run had left behind")
    base = ensure_base(client, progress, package_cache)
    with engine_errors("ask the engine what it has"):
        stand_ins, cpus = _stand_ins(client, base), float(client.info().get("NCPU") or 1)
    builder = DockerImageBuilder(client, run_id=run_id, base_image=base, package_cache=package_cache)
    most = max(USUAL_IN_FLIGHT, in_flight)
    sandbox = DockerSandbox(client, run_id=run_id, in_flight=most, starts=starts or round(2 * cpus))
    waiting = PatientEngine(builder, sandbox, partial(answers, client), progress)
    try:
        yield Engine(waiting if patient else builder, waiting if patient else sandbox, stand_ins, cpus, client)
    finally:
        # An engine that died takes nothing of what was made with it; the next run sweeps.
        with suppress(InfrastructureError), engine_errors("remove what the run made"):
            remove_run(client, run_id)
        client.close()


def _sweep_harbor(settings: Settings, progress: Callable[[str], None]) -> None:
    left = left_jobs(settings.out / "jobs")
    if left and (removed := remove_containers(connect(), left)):
        progress(f"removed {removed} container(s), network(s) and image(s) that a killed Harbor had left behind")


def _stand_ins(client: DockerClient, base: str) -> dict[str, str]:
    """The base image under its plain name; a bootstrapped Debian for a public one that is not here."""
    names = dict.fromkeys(_BASE, base)
    if has_image(client, BOOTSTRAPPED):
        names |= dict.fromkeys(_DEBIAN, BOOTSTRAPPED)
    return {name: image for name, image in names.items() if not has_image(client, name)}


def _harbor(settings: Settings) -> HarborEngine | None:
    models = settings.models
    if settings.rollouts.engine != "harbor":
        return None
    if models.base_url is None:
        raise SettingsError(
            "Harbor's agent needs an endpoint: set FACET_LLM_BASE_URL, or the engine of rollouts to own"
        )
    return HarborEngine(models.base_url, models.api_key.get_secret_value(), settings.rollouts)


def _model(models: Models) -> tuple[ChatModel, Mapping[Role, str], Sequence[str]]:
    """The model that answers, its names by role, and the list in which a recorded one notes changed prompts."""
    if models.base_url is None:
        recorded = RecordedModel(models.recordings)
        # Named by its content: answers that a store kept of an earlier recording are not taken for these.
        return recorded, dict.fromkeys(Role, recorded.name), recorded.changed
    live = OpenAIModel(
        models.base_url,
        models.api_key.get_secret_value(),
        models.names(),
        timeout_s=models.timeout_s,
        retries=models.retries,
        structured=models.structured,
    )
    return live, models.names(), ()


def teacher_name(models: Models) -> str:
    """The name under which the teacher's attempts are kept. Raises SettingsError for recordings that cannot be read."""
    return models.teacher if models.base_url else RecordedModel(models.recordings).name


def _embedder(
    models: Models, store: Store, ledger: Ledger, run_id: str, progress: Callable[[str], None]
) -> CachedEmbedder:
    """The local embedder, or that of the endpoint that the settings name; in front of it, what the store holds."""
    if models.embedder is None:
        return CachedEmbedder(MiniLMEmbedder(), store, LOCAL_MODEL, progress)
    own = models.embed_base_url  # a key is sent to no endpoint but its own
    endpoint = EndpointEmbedder(
        own or models.base_url or "",
        (models.embed_api_key if own else models.api_key).get_secret_value(),
        models.embedder,
        ledger,
        run_id=run_id,
        variables="FACET_EMBED" if own else "FACET_LLM",
        timeout_s=models.timeout_s,
        retries=models.retries,
        batch=models.embed_batch,
        in_flight=models.in_flight,
    )
    return CachedEmbedder(endpoint, store, models.embedder, progress)
