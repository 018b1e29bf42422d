"""Everything a user can set: a profile (TOML) for the shape of a run, the environment for endpoints and secrets.

Nothing is read at import; `load` is called once by the command line or by a Dagster resource. Secrets come
from the environment only and never appear in a record, a log or a profile.
"""

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from facet_dagster.errors import SettingsError
from facet_dagster.records.call import Role
from facet_dagster.records.terms import (
    ConstructionTerms,
    DriftTerms,
    EvaluationTerms,
    IngestTerms,
    RolloutTerms,
    SeedingTerms,
    SftTerms,
)

PROJECT = Path(__file__).resolve().parent.parent
CHAT_ROLES = (Role.AUTHOR, Role.JUDGE, Role.TEACHER)


_ENGINE = r"^(unix|tcp|ssh|http|https)://\S+$"
_URL = r"^https?://[A-Za-z0-9.:_-]+(/\S*)?$"
_SERVER = r"^http://[A-Za-z0-9.-]+(:\d+)?$"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Price(_Section):
    """US dollars per million tokens."""

    prompt: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    completion: float = Field(default=0.0, ge=0, allow_inf_nan=False)


class Models(_Section):
    """Where completions come from. Without `base_url` the recorded model answers."""

    base_url: str | None = Field(default=None, pattern=_URL)
    api_key: SecretStr = SecretStr("")
    author: str = "recorded"
    judge: str = "recorded"
    teacher: str = "recorded"
    embedder: str | None = None  # None: the local one, which needs no endpoint
    embed_base_url: str | None = Field(default=None, pattern=_URL)  # None: as `base_url`, with its key
    embed_api_key: SecretStr = SecretStr("")
    embed_batch: int = Field(default=128, ge=1)  # texts per request
    prices: dict[Role, Price] = Field(default_factory=dict)
    model_prices: dict[str, Price] = Field(default_factory=dict)  # by the model's name; goes before that of the role
    timeout_s: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    retries: int = Field(default=5, ge=0)
    in_flight: int = Field(default=8, ge=1)
    structured: bool = True
    recordings: Path = PROJECT / "data" / "recordings"

    def names(self) -> dict[Role, str]:
        """Model name per role that asks an endpoint."""
        names = {Role.AUTHOR: self.author, Role.JUDGE: self.judge, Role.TEACHER: self.teacher} if self.base_url else {}
        return {**names, Role.EMBEDDER: self.embedder} if self.embedder else names

    def price(self, role: Role, name: str | None = None) -> Price | None:
        """Price of a model in a role (`name`: another one than is set for it); None where nothing says it."""
        named = self.model_prices.get(name or self.names().get(role, ""))
        return named or self.prices.get(role)


class Budget(_Section):
    """What may be spent on calls that are not replayed: by a run, and on a day (UTC) by all runs on the store together.

    None is no limit.
    """

    tokens: int | None = Field(default=None, ge=0)
    usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    day_tokens: int | None = Field(default=None, ge=0)
    day_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    @property
    def in_dollars(self) -> bool:
        """Whether any limit needs prices."""
        return self.usd is not None or self.day_usd is not None

    @property
    def of_a_day(self) -> bool:
        """Whether a day has a limit."""
        return self.day_tokens is not None or self.day_usd is not None


class Settings(_Section):
    """One resolved configuration. `skills` is a source of skills (a folder, a dump, an archive), `inbox` a folder of
    more of them; `store` is a path or URL; `organisation` is the first half of task names.
    """

    skills: Path = PROJECT / "data" / "skills"
    inbox: Path | None = None
    store: str = Field(min_length=1, default=str(PROJECT / "data" / "store"))
    out: Path = PROJECT / "data" / "out"
    dagster_home: Path = PROJECT / "data" / "dagster"
    docker_hosts: tuple[Annotated[str, Field(pattern=_ENGINE)], ...] = ()  # engines to share the work; else DOCKER_HOST
    package_cache: str | None = Field(default=None, pattern=_SERVER)  # as builds reach it (deploy/package-cache)
    organisation: str = Field(default="facet-dagster", pattern=r"^[a-z0-9][a-z0-9-]*$")
    models: Models = Models()
    budget: Budget = Budget()
    ingest: IngestTerms = IngestTerms()
    seeding: SeedingTerms = SeedingTerms()
    construction: ConstructionTerms = ConstructionTerms()
    rollouts: RolloutTerms = RolloutTerms()
    evaluation: EvaluationTerms = EvaluationTerms()
    drift: DriftTerms = DriftTerms()
    sft: SftTerms = SftTerms()


# Environment variable -> where it goes. The environment wins over the profile.
_VARIABLES: dict[str, tuple[str, ...]] = {
    "FACET_SKILLS": ("skills",),
    "FACET_INBOX": ("inbox",),
    "FACET_INGEST_WORKERS": ("ingest", "workers"),
    "FACET_DECIDE_OPEN": ("ingest", "decide_open"),
    "FACET_STORE": ("store",),
    "FACET_OUT": ("out",),
    "FACET_DAGSTER_HOME": ("dagster_home",),
    "FACET_PACKAGE_CACHE": ("package_cache",),
    "FACET_LLM_BASE_URL": ("models", "base_url"),
    "FACET_LLM_API_KEY": ("models", "api_key"),
    "FACET_LLM_TIMEOUT": ("models", "timeout_s"),
    "FACET_LLM_RETRIES": ("models", "retries"),
    "FACET_LLM_IN_FLIGHT": ("models", "in_flight"),
    "FACET_LLM_STRUCTURED": ("models", "structured"),
    "FACET_MODEL_AUTHOR": ("models", "author"),
    "FACET_MODEL_JUDGE": ("models", "judge"),
    "FACET_MODEL_TEACHER": ("models", "teacher"),
    "FACET_MODEL_EMBEDDER": ("models", "embedder"),
    "FACET_EMBED_BASE_URL": ("models", "embed_base_url"),
    "FACET_EMBED_API_KEY": ("models", "embed_api_key"),
    "FACET_RECORDINGS": ("models", "recordings"),
    "FACET_BUDGET_TOKENS": ("budget", "tokens"),
    "FACET_BUDGET_USD": ("budget", "usd"),
    "FACET_BUDGET_DAY_TOKENS": ("budget", "day_tokens"),
    "FACET_BUDGET_DAY_USD": ("budget", "day_usd"),
    "FACET_SEEDS_IN_FLIGHT": ("construction", "seeds_in_flight"),
    "FACET_MAX_SEEDS": ("seeding", "max_seeds"),
    "FACET_ALTERNATIVE": ("construction", "alternative"),
    "FACET_SCHEME": ("construction", "scheme"),
    "FACET_REPEATS": ("construction", "repeats"),
    "FACET_CONTROLS": ("construction", "controls"),
    "FACET_ATTEMPTS": ("rollouts", "attempts"),
    "FACET_ROLLOUTS_IN_FLIGHT": ("rollouts", "in_flight"),
    "FACET_CONTAINER_STARTS": ("rollouts", "starts"),
    "FACET_ROLLOUT_ENGINE": ("rollouts", "engine"),
    "FACET_REPLIES": ("rollouts", "replies"),
    "FACET_CONTEXT_TOKENS": ("rollouts", "context_tokens"),
    "FACET_HARBOR": ("rollouts", "harbor"),
    "FACET_EVALUATE_TASKS": ("evaluation", "tasks"),
    "FACET_EVALUATE_ATTEMPTS": ("evaluation", "attempts"),
    "FACET_DRIFT_SAMPLE": ("drift", "sample"),
    "FACET_DRIFT_REPEATS": ("drift", "repeats"),
}
# Prices: "prompt,completion" in US dollars per million tokens.
_MODEL_PRICES = "FACET_PRICES"  # "name=prompt,completion;name=…"
_PRICES = {f"FACET_PRICE_{role.name}": role for role in Role}
_EVALUATED = "FACET_EVALUATE_MODELS"  # names with commas between them
_ENGINES = "FACET_DOCKER_HOSTS"  # addresses with commas between them


def load(
    environment: Mapping[str, str], profile: Path | None = None, *, asked: Collection[Role] = CHAT_ROLES
) -> Settings:
    """Resolve a profile and the environment. Raises SettingsError naming what is wrong.

    Where there is an endpoint, the models of the roles that are `asked` must be named; where there is a budget in US
    dollars, they and an embedder must have a price.
    """
    values = _profile(profile or _path(environment.get("FACET_PROFILE")))
    for variable, place in _VARIABLES.items():
        if environment.get(variable):
            _put(values, place, environment[variable])
    for variable, priced in _PRICES.items():
        if environment.get(variable):
            _put(values, ("models", "prices", priced.value), _price(variable, environment[variable]))
    for name, price in _model_prices(environment.get(_MODEL_PRICES, "")).items():
        _put(values, ("models", "model_prices", name), price)
    if environment.get(_EVALUATED):
        _put(values, ("evaluation", "models"), [name.strip() for name in environment[_EVALUATED].split(",")])
    if environment.get(_ENGINES):
        _put(values, ("docker_hosts",), [host.strip() for host in environment[_ENGINES].split(",") if host.strip()])
    _check_models(values.get("models", {}), asked)
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingsError(f"setting {'.'.join(str(p) for p in first['loc'])}: {first['msg']}") from error
    unpriced = [
        role.name
        for role in settings.models.names()
        if settings.models.price(role) is None and role in {*asked, Role.EMBEDDER}
    ]
    if settings.budget.in_dollars and unpriced:
        raise SettingsError(f"a budget in US dollars needs a price for every role: set FACET_PRICE_{unpriced[0]}")
    _check_rollouts(settings)
    return settings


def _check_rollouts(settings: Settings) -> None:
    """Raise SettingsError where a bound on the rollouts could never end one."""
    terms, budget = settings.rollouts, settings.budget
    unpriced = Role.TEACHER in settings.models.names() and settings.models.price(Role.TEACHER) is None
    if terms.usd is not None and unpriced:
        raise SettingsError("rollouts.usd needs a price for the teacher: set FACET_PRICE_TEACHER")
    bounds = {
        "rollouts.usd": terms.usd,
        "FACET_BUDGET_USD": budget.usd,
        "FACET_BUDGET_TOKENS": budget.tokens,
        "FACET_BUDGET_DAY_USD": budget.day_usd,
        "FACET_BUDGET_DAY_TOKENS": budget.day_tokens,
    }
    given = [name for name, bound in bounds.items() if bound is not None]
    if terms.engine == "harbor" and given:
        raise SettingsError(
            f"{given[0]} cannot bound Harbor's agent, which asks the endpoint by itself: leave it out, or set "
            "FACET_ROLLOUT_ENGINE to own"
        )


def _check_models(models: object, asked: Collection[Role]) -> None:
    """Raise SettingsError where an endpoint has no model, or a model no endpoint."""
    if not isinstance(models, dict):
        return
    if models.get("base_url"):
        for role in (role.value for role in CHAT_ROLES if role in asked):
            if not models.get(role):
                raise SettingsError(f"FACET_LLM_BASE_URL is set, but no {role} model: set FACET_MODEL_{role.upper()}")
    if models.get("embed_base_url") and not models.get("embedder"):
        raise SettingsError("FACET_EMBED_BASE_URL is set, but no embedder model: set FACET_MODEL_EMBEDDER")
    if models.get("embedder") and not (models.get("embed_base_url") or models.get("base_url")):
        raise SettingsError(
            "FACET_MODEL_EMBEDDER is set, but no endpoint: set FACET_EMBED_BASE_URL (without both, a local one embeds)"
        )


def _path(value: str | None) -> Path | None:
    return Path(value) if value else None


def _profile(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"profile {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"profile {path} is not TOML: {error}") from error


def _put(values: dict[str, Any], place: tuple[str, ...], value: object) -> None:
    for part in place[:-1]:
        values = values.setdefault(part, {})
        if not isinstance(values, dict):
            raise SettingsError(f"setting {part}: a section of a profile is a table, [{part}]")
    values[place[-1]] = value


def _model_prices(text: str) -> dict[str, dict[str, float]]:
    parts = [part.rpartition("=") for part in text.split(";") if part.strip()]
    if not all(name.strip() for name, _, _ in parts):
        raise SettingsError(f"{_MODEL_PRICES} must read NAME=PROMPT,COMPLETION;NAME=… in US dollars per million tokens")
    return {name.strip(): _price(_MODEL_PRICES, price) for name, _, price in parts}


def _price(variable: str, text: str) -> dict[str, float]:
    try:
        prompt, completion = (float(part) for part in text.split(","))
    except ValueError as error:
        raise SettingsError(f"{variable} must read PROMPT,COMPLETION in US dollars per million tokens") from error
    return {"prompt": prompt, "completion": completion}
