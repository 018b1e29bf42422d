"""What the author is asked: plan, materials, and their repair or revision. Building and probing stand in prepare.py."""

import json
from dataclasses import dataclass

from pydantic import ValidationError

from facet_dagster.environment.check import PLAN_CHARACTERS, manifest_problems, materials_problems
from facet_dagster.prompts.ask import Asker, Question
from facet_dagster.prompts.views import as_json, show_feedback, show_scenario
from facet_dagster.records.call import CallId
from facet_dagster.records.environment import Manifest, Materials
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.validation import Feedback


@dataclass(frozen=True)
class Draft:
    """A plan and what makes it real; not built yet."""

    manifest: Manifest
    materials: Materials


def previous_draft(feedback: Feedback | None) -> Draft | None:
    """The draft that a repair starts from; None where there is none (first pass, or no version was ever made)."""
    if feedback is None:
        return None
    try:
        value = json.loads(feedback.previous)
        return Draft(Manifest.model_validate(value["manifest"]), Materials.model_validate(value["materials"]))
    except (ValueError, ValidationError, KeyError, TypeError):
        return None


class Drafter:
    """Asks for the drafts of one seed in one round."""

    def __init__(self, seed_id: str, scenario: Scenario, asker: Asker, round: int) -> None:
        self._seed_id = seed_id
        self._scenario = scenario
        self._asker = asker
        self._round = round

    async def first(self, feedback: Feedback | None) -> Draft | Rejected:
        """Plan and materials from Z alone; feedback without a previous version is shown to the planner."""
        variables = {
            "scenario": show_scenario(self._scenario),
            "feedback": show_feedback(feedback),
            "max_characters": str(PLAN_CHARACTERS),
        }
        manifest = await self._asker.ask(
            Question(
                prompt="environment/manifest",
                variables=variables,
                answer=Manifest,
                call=self._call("manifest"),
                component=Component.ENVIRONMENT,
                check=manifest_problems,
            )
        )
        if isinstance(manifest, Rejected):
            return manifest
        return await self._materials("materials", manifest, variables | {"manifest": as_json(manifest)})

    async def revised(self, previous: Draft, feedback: Feedback) -> Draft | Rejected:
        """New materials for a plan that was built and then failed validation."""
        variables = self._with_previous(previous) | {"feedback": show_feedback(feedback)}
        return await self._materials("revise", previous.manifest, variables, may_refuse=True)

    async def repaired(self, previous: Draft, failure: Rejected, attempt: int) -> Draft | Rejected:
        """New materials for a draft that did not build or did not hold."""
        variables = self._with_previous(previous) | {"failure": failure.evidence, "reason": failure.reason.value}
        return await self._materials("repair", previous.manifest, variables, attempt=attempt, may_refuse=True)

    async def _materials(
        self, prompt: str, manifest: Manifest, variables: dict[str, str], *, attempt: int = 0, may_refuse: bool = False
    ) -> Draft | Rejected:
        answer = await self._asker.ask(
            Question(
                prompt=f"environment/{prompt}",
                variables=variables,
                answer=Materials,
                call=self._call(prompt, attempt),
                component=Component.ENVIRONMENT,
                check=lambda materials: materials_problems(materials, manifest),
                may_refuse=may_refuse,
            )
        )
        return answer if isinstance(answer, Rejected) else Draft(manifest, _with_all_properties(answer, manifest))

    def _with_previous(self, draft: Draft) -> dict[str, str]:
        return {
            "scenario": show_scenario(self._scenario),
            "manifest": as_json(draft.manifest),
            "materials": as_json(_without_planned_properties(draft)),
        }

    def _call(self, prompt: str, attempt: int = 0) -> CallId:
        return CallId(station=f"environment.{prompt}", subject=self._seed_id, round=self._round, attempt=attempt)


def _with_all_properties(materials: Materials, manifest: Manifest) -> Materials:
    """The plan's properties, with the probes that the author of the materials sharpened."""
    sharpened = {p.id: p for p in materials.properties}
    return materials.model_copy(update={"properties": [sharpened.get(p.id, p) for p in manifest.properties]})


def _without_planned_properties(draft: Draft) -> Materials:
    """The materials as their author answers them: what stands in the plan is not repeated."""
    changed = [p for p in draft.materials.properties if p not in draft.manifest.properties]
    return draft.materials.model_copy(update={"properties": changed})
