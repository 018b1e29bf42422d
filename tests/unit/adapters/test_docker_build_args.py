"""Which of the host's settings a build is told of."""

from facet_dagster.adapters.docker_build_args import CA_BUNDLE, build_args

DOCKERFILE = (
    "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nARG PIP_INDEX_URL\nARG PIP_EXTRA_INDEX_URL\n  arg PIP_CERT\nRUN true\n"
)


def test_only_what_a_build_can_use_and_declares() -> None:
    environ = {
        "HTTP_PROXY": "http://proxy:1",
        "no_proxy": "localhost",
        "PIP_INDEX_URL": "https://index.example/simple",
        "PIP_EXTRA_INDEX_URL": "file:///srv/pypi https://more.example/simple file:///other",
        "PIP_TRUSTED_HOST": "index.example",
        "OPENAI_API_KEY": "never",
    }
    assert build_args(DOCKERFILE, environ, base_image="base:1") == {
        "HTTP_PROXY": "http://proxy:1",
        "no_proxy": "localhost",
        "BASE_IMAGE": "base:1",
        "PIP_INDEX_URL": "https://index.example/simple",
        "PIP_EXTRA_INDEX_URL": "https://more.example/simple",
        "PIP_CERT": CA_BUNDLE,
    }


def test_an_index_on_the_hosts_disk_is_not_passed_on() -> None:
    given = build_args(DOCKERFILE, {"PIP_INDEX_URL": "file:///srv/pypi"}, base_image="base:1")
    assert given == {"BASE_IMAGE": "base:1", "PIP_CERT": CA_BUNDLE}
