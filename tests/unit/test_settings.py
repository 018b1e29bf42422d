"""Settings: a profile and the environment, each mistake named in one line."""

from pathlib import Path

import pytest

from facet_dagster.errors import SettingsError
from facet_dagster.records.call import Role
from facet_dagster.settings import PROJECT, Price, load

LIVE = {
    "FACET_LLM_BASE_URL": "http://127.0.0.1:1/v1",
    "FACET_LLM_API_KEY": "a-secret",
    "FACET_MODEL_AUTHOR": "a",
    "FACET_MODEL_JUDGE": "j",
    "FACET_MODEL_TEACHER": "t",
}


def test_without_anything_the_recorded_model_answers() -> None:
    settings = load({})
    assert settings.models.base_url is None
    assert settings.models.recordings == PROJECT / "data" / "recordings"


def test_the_environment_wins_over_the_profile(tmp_path: Path) -> None:
    profile = tmp_path / "p.toml"
    profile.write_text("[seeding]\nmax_seeds = 3\n[construction]\nrepeats = 4\n")
    settings = load({"FACET_MAX_SEEDS": "7"}, profile)
    assert (settings.seeding.max_seeds, settings.construction.repeats) == (7, 4)


def test_a_live_endpoint_with_a_model_per_role_and_prices() -> None:
    prices = {f"FACET_PRICE_{role.name}": "0.5, 1.5" for role in Role}
    settings = load({**LIVE, **prices, "FACET_BUDGET_USD": "20"})
    assert settings.models.names() == {Role.AUTHOR: "a", Role.JUDGE: "j", Role.TEACHER: "t"}
    assert settings.models.prices[Role.TEACHER].completion == 1.5
    assert settings.budget.usd == 20.0


def test_an_embedder_at_an_endpoint_is_a_role_with_a_price() -> None:
    here = {"FACET_MODEL_EMBEDDER": "e", "FACET_EMBED_BASE_URL": "http://e/v1", "FACET_BUDGET_USD": "1"}
    settings = load({**here, "FACET_PRICE_EMBEDDER": "0.02,0", "FACET_EMBED_API_KEY": "another-secret"})
    assert settings.models.names() == {Role.EMBEDDER: "e"}
    assert settings.models.prices[Role.EMBEDDER].prompt == 0.02
    assert "another-secret" not in repr(settings) + settings.model_dump_json()
    assert load({**LIVE, "FACET_MODEL_EMBEDDER": "e"}).models.names()[Role.EMBEDDER] == "e"
    with pytest.raises(SettingsError, match="FACET_PRICE_EMBEDDER"):
        load(here)


def test_the_key_is_never_shown() -> None:
    settings = load(LIVE)
    assert "a-secret" not in repr(settings) + str(settings.model_dump()) + settings.model_dump_json()


def test_a_price_by_the_models_name_goes_before_that_of_its_role() -> None:
    prices = {"FACET_PRICES": "a = 3,4; org/t:free=0,0", "FACET_PRICE_AUTHOR": "1,2", "FACET_PRICE_TEACHER": "5,6"}
    models = load({**LIVE, **prices}).models
    found = {role: models.price(role) for role in (Role.AUTHOR, Role.TEACHER, Role.JUDGE)}
    assert found == {
        Role.AUTHOR: Price(prompt=3, completion=4),
        Role.TEACHER: Price(prompt=5, completion=6),
        Role.JUDGE: None,
    }
    assert models.price(Role.TEACHER, "org/t:free") == Price()


HARBOR = {"FACET_ROLLOUT_ENGINE": "harbor"}
PER_TRIAL = "usd-per-trial.toml"


def test_a_bound_in_dollars_per_trial_needs_no_price_where_nothing_is_paid(tmp_path: Path) -> None:
    (tmp_path / PER_TRIAL).write_text("[rollouts]\nusd = 0.5\n")
    assert load({"FACET_PROFILE": str(tmp_path / PER_TRIAL)}).rollouts.usd == 0.5
    assert load({**LIVE, "FACET_PRICE_TEACHER": "1,2", "FACET_PROFILE": str(tmp_path / PER_TRIAL)}).rollouts.usd == 0.5


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"FACET_LLM_BASE_URL": "http://x/v1"}, "FACET_MODEL_AUTHOR"),
        ({"FACET_MODEL_EMBEDDER": "e"}, "FACET_EMBED_BASE_URL"),
        ({"FACET_EMBED_BASE_URL": "http://x/v1"}, "FACET_MODEL_EMBEDDER"),
        ({"FACET_PRICE_JUDGE": "cheap"}, "FACET_PRICE_JUDGE"),
        ({**LIVE, "FACET_PRICE_AUTHOR": "1,2", "FACET_BUDGET_USD": "20"}, "FACET_PRICE_JUDGE"),
        ({**LIVE, "FACET_PRICES": "a=1,2;j=1,2", "FACET_BUDGET_DAY_USD": "20"}, "FACET_PRICE_TEACHER"),
        ({"FACET_PRICES": "1,2"}, "NAME=PROMPT,COMPLETION"),
        ({"FACET_PRICES": "a=dear"}, "FACET_PRICES"),
        ({**LIVE, **HARBOR, "FACET_BUDGET_DAY_TOKENS": "9"}, "FACET_BUDGET_DAY_TOKENS cannot bound Harbor"),
        ({"FACET_BUDGET_DAY_TOKENS": "-5"}, "budget.day_tokens"),
        ({"FACET_MAX_SEEDS": "many"}, "seeding.max_seeds"),
        ({"FACET_BUDGET_USD": "nan"}, "budget.usd"),
        ({"FACET_BUDGET_TOKENS": "-5"}, "budget.tokens"),
        ({"FACET_PRICE_JUDGE": "nan,1"}, "models.prices"),
        ({"FACET_LLM_IN_FLIGHT": "0"}, "models.in_flight"),
        ({**LIVE, "FACET_LLM_BASE_URL": "http://[::1"}, "models.base_url"),
        ({**LIVE, "FACET_LLM_BASE_URL": "not-a-url"}, "models.base_url"),
        ({**LIVE, "FACET_PROFILE": PER_TRIAL}, "set FACET_PRICE_TEACHER"),
        (
            {**LIVE, **HARBOR, "FACET_PROFILE": PER_TRIAL, "FACET_PRICE_TEACHER": "1,2"},
            "rollouts.usd cannot bound Harbor",
        ),
        ({**LIVE, **HARBOR, "FACET_BUDGET_TOKENS": "9"}, "FACET_BUDGET_TOKENS cannot bound Harbor"),
        ({"FACET_CONTAINER_STARTS": "0"}, "rollouts.starts"),
        ({"FACET_REPEATS": "0"}, "construction.repeats"),
        ({"FACET_PROFILE": "/no/such/file.toml"}, "cannot be read"),
    ],
)
def test_a_mistake_is_one_line_that_names_it(environment: dict[str, str], said: str, tmp_path: Path) -> None:
    (tmp_path / PER_TRIAL).write_text("[rollouts]\nusd = 0.5\n")
    if environment.get("FACET_PROFILE") == PER_TRIAL:
        environment = {**environment, "FACET_PROFILE": str(tmp_path / PER_TRIAL)}
    with pytest.raises(SettingsError) as error:
        load(environment)
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("profile", sorted((PROJECT / "data" / "profiles").glob("*.toml")), ids=lambda p: p.name)
def test_the_shipped_profiles_load(profile: Path) -> None:
    assert load(LIVE, profile).models.author == "a"


def test_several_engines_by_one_variable() -> None:
    assert load({"FACET_DOCKER_HOSTS": "tcp://a:2376, ssh://me@b"}).docker_hosts == ("tcp://a:2376", "ssh://me@b")
    assert load({}).docker_hosts == ()
    with pytest.raises(SettingsError, match="docker_hosts"):
        load({"FACET_DOCKER_HOSTS": "just-a-name"})
