"""Skills: every folder read is a valid skill or a reject with one reason."""

from collections import Counter
from collections.abc import Iterator

import dagster as dg

from assets.markdown import table
from facet_dagster.records.base import digest_of
from facet_dagster.skills.ingest import read_skills
from resources.doors import Doors
from resources.workshop import Session

SAMPLE = 25  # rows shown on a page


@dg.multi_asset(
    specs=[
        dg.AssetSpec(
            "skills", description="Valid, normalised, de-duplicated skills.", group_name="skills", kinds={"parquet"}
        ),
        dg.AssetSpec(
            "skill_rejects",
            description="Folders that are not used, each with one reason and what shows it.",
            group_name="skills",
            kinds={"parquet"},
        ),
    ]
)
def skill_folders(
    workshop: dg.ResourceParam[Session], doors: dg.ResourceParam[Doors]
) -> Iterator[dg.MaterializeResult[None]]:
    """Read the folder of the settings and keep all that was found."""
    ingest = read_skills(workshop.settings.skills)
    doors.keep_skills(ingest, workshop.workshop)
    noted = [skill for skill in ingest.skills if skill.notes]
    yield dg.MaterializeResult(
        asset_key="skills",
        metadata={
            "dagster/row_count": len(ingest.skills),
            "folder": dg.MetadataValue.path(workshop.settings.skills),
            "licences": table(("licence", "skills"), Counter(s.licence for s in ingest.skills).most_common()),
            "sample": table(
                ("skill", "name", "description"), ((s.skill_id, s.name, s.description) for s in ingest.skills[:SAMPLE])
            ),
            "notes": table(("skill", "notes"), ((s.skill_id, "; ".join(s.notes)) for s in noted[:SAMPLE])),
        },
        data_version=dg.DataVersion(digest_of("\n".join(s.skill_id for s in ingest.skills))[:32]),
    )
    yield dg.MaterializeResult(
        asset_key="skill_rejects",
        metadata={
            "dagster/row_count": len(ingest.rejects),
            "reasons": table(("reason", "folders"), Counter(r.fault.value for r in ingest.rejects).most_common()),
            "sample": table(
                ("folder", "reason", "evidence"), ((r.path, r.fault, r.evidence) for r in ingest.rejects[:SAMPLE])
            ),
        },
        data_version=dg.DataVersion(digest_of("\n".join(r.key for r in ingest.rejects))[:32]),
    )
