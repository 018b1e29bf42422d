"""The ImageBuilder port on Docker's classic builder: arguments, labels, what an image may hold."""

import os
from dataclasses import dataclass

from docker import DockerClient
from docker.errors import ImageNotFound, NotFound

from facet_dagster.adapters.docker_build import Build, CacheGone
from facet_dagster.adapters.docker_build_args import build_args
from facet_dagster.adapters.docker_build_refusals import refusal
from facet_dagster.adapters.docker_calls import EngineCalls
from facet_dagster.adapters.docker_holds import hold_of
from facet_dagster.adapters.docker_labels import label_of_build
from facet_dagster.adapters.docker_packages import control, control_of, outage
from facet_dagster.adapters.docker_sweep import let_go, remove_unnamed
from facet_dagster.errors import InfrastructureError
from facet_dagster.records.container import BuildFault, BuildRequest, BuildResult
from facet_dagster.side_by_side import uninterrupted

_ATTEMPTS = 3
_NO_VOLUMES = "VOLUME is not allowed: what lies in a volume is neither bounded nor part of the image ({paths})."


@dataclass(frozen=True)
class _Image:
    id: str
    volumes: tuple[str, ...]
    user: str
    workdir: str


class DockerImageBuilder:
    """Builds for one run on top of the local base image. Engine trouble raises InfrastructureError.

    `package_cache`: where packages come from; None is what the environment says (docker_build_args.py).
    """

    def __init__(self, client: DockerClient, *, run_id: str, base_image: str, package_cache: str | None = None) -> None:
        self._client = client
        self._run_id = run_id
        self._base_image = base_image
        self._package_cache = package_cache
        self._calls = EngineCalls()

    async def build(self, request: BuildRequest) -> BuildResult:
        """Build under the request's limits; a failed or cancelled build leaves neither container nor layer.

        Raises InfrastructureError, too, where it failed while no package can be fetched at all.
        """
        refused = refusal(request.dockerfile)
        if refused is not None:
            return BuildResult(image=request.tag(), fault=BuildFault.FAILED, log=refused, seconds=0.0)
        before = await self._inspect(request.tag())
        result = await self._attempts(request)
        if not result.ok:
            if (asked := control_of(request)) is not None:
                await self._pass(asked)
            return result
        made = await self._inspect(self._hold(request.tag()))
        if made is None:
            raise InfrastructureError(f"the container engine built {request.tag()} but does not know it")
        if made.volumes:
            await self.remove(request.tag())
            closing = _NO_VOLUMES.format(paths=", ".join(made.volumes))
            return result.model_copy(update={"fault": BuildFault.FAILED, "log": f"{result.log[-19_000:]}\n{closing}"})
        await self._calls.call("name an image", self._name, made.id, request.tag())
        if before is not None and before.id != made.id:
            await uninterrupted(self._calls.call("remove a replaced image", remove_unnamed, self._client, before.id))
        return result.model_copy(update={"user": made.user, "workdir": made.workdir})

    async def _attempts(self, request: BuildRequest) -> BuildResult:
        arguments = build_args(
            request.dockerfile, os.environ, base_image=self._base_image, package_cache=self._package_cache
        )
        owned = label_of_build(run_id=self._run_id, seed=request.seed, purpose="environment")
        for _ in range(_ATTEMPTS):
            build = Build(
                self._client,
                self._calls,
                request,
                tag=self._hold(request.tag()),  # its own name comes second: whoever finds it may remove it
                image_labels=owned,
                arguments=arguments,
            )
            try:
                return await build.result()
            except CacheGone as error:
                last = error
        raise InfrastructureError(f"cached layers vanish during the build: {last}")

    async def packages_come(self) -> None:
        """Raise InfrastructureError where builds reach no source of apt, or no index of pip."""
        await self._pass(control(("apt", "pip"), "control"))

    async def _pass(self, asked: BuildRequest) -> None:
        result = await self._attempts(asked)
        if not result.ok:
            raise InfrastructureError(f"packages cannot be fetched: {outage(result)}")
        await self.remove(asked.tag())

    async def exists(self, image: str, seed: str) -> bool:
        """Whether the engine has the image; where it has, this run holds it from now on."""
        return await self._calls.call("hold an image", self._try_to_hold, image)

    async def remove(self, image: str) -> None:
        """Remove an image with its untagged layers, unless another run holds it; one that is gone already is fine."""
        await uninterrupted(self._calls.call("remove an image", let_go, self._client, image, self._run_id))

    def _hold(self, image: str) -> str:
        return hold_of(image, run_id=self._run_id)

    def _try_to_hold(self, image: str) -> bool:
        hold = self._hold(image)
        for has, gets in ((image, hold), (hold, image)):  # the name may have gone with the run that built it
            try:
                self._name(has, gets)
            except NotFound:
                continue
            return True
        return False

    def _name(self, image: str, reference: str) -> None:
        repository, _, tag = reference.rpartition(":")
        self._client.api.tag(image, repository, tag)

    async def _inspect(self, image: str) -> _Image | None:
        return await self._calls.call("look at an image", self._look_at, image)

    def _look_at(self, image: str) -> _Image | None:
        try:
            found = self._client.images.get(image)
        except ImageNotFound:
            return None
        config = found.attrs["Config"]
        return _Image(
            id=str(found.id),
            volumes=tuple(sorted(config.get("Volumes") or {})),
            user=config.get("User") or "",
            workdir=config.get("WorkingDir") or "",
        )
