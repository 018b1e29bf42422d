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


def test_a_package_cache_takes_the_place_of_proxy_and_index() -> None:
    environ = {"http_proxy": "http://other:1", "no_proxy": "inner"}
    dockerfile = f"{DOCKERFILE}ARG PIP_TRUSTED_HOST\n"
    cache = "http://172.17.0.1:3142"
    given = build_args(dockerfile, environ, base_image="base:1", package_cache=cache)
    spared = "inner,localhost,127.0.0.1,0.0.0.0,::1,172.17.0.1"
    assert given == {
        "http_proxy": cache,
        "HTTP_PROXY": cache,
        "no_proxy": spared,
        "NO_PROXY": spared,
        "BASE_IMAGE": "base:1",
        "PIP_INDEX_URL": f"{cache}/simple",
        "PIP_TRUSTED_HOST": "172.17.0.1",
        "PIP_CERT": CA_BUNDLE,
    }


def test_an_index_of_your_own_is_kept_beside_a_package_cache() -> None:
    own = {"PIP_INDEX_URL": "https://index.example/simple"}
    given = build_args(DOCKERFILE, own, base_image="base:1", package_cache="http://172.17.0.1:3142")
    assert given["PIP_INDEX_URL"] == own["PIP_INDEX_URL"] and given["http_proxy"] == "http://172.17.0.1:3142"
