"""Pictures of the running user interface for the docs: asset graph, a seed's component, a backfill, the yield report.

    facet run && facet ui &                         # something to show
    python scripts/screenshots.py [--url http://127.0.0.1:3000] [--out docs/pictures]

Needs Chromium (`apt-get install chromium`); it runs headless, with a profile of its own that is thrown away. Launches
one backfill over the seeds with a task, which makes nothing anew. Pictures have few colours, so that they stay below
150 kB.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from PIL import Image

PROJECT = Path(__file__).resolve().parent.parent
SIZE = (1500, 940)
# The graph shows what is in its nodes only where there is room: the page is larger, and cut to the graph.
WIDE: dict[str, Any] = {"size": (3200, 1400), "cut": (545, 115, 3195, 1150)}
LIMIT = 150_000  # bytes of a picture
SETTLE_MS = 20_000  # of the page's own clock: what it asks the server for has come by then
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
COMPONENTS = ("scenario", "environment", "instruction", "solution", "verifier", "validation", "task")
GROUPS = ("seeds", "construction", "rollouts")  # shown open; the others stay closed, so that names can be read
_SEEDS = """{ assetNodeOrError(assetKey: {path: ["task"]}) { ... on AssetNode {
  assetPartitionStatuses { ... on DefaultPartitionStatuses { materializedPartitions } } } } }"""
_LAUNCH = """mutation($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
_STATUS = """query($id: String!) { partitionBackfillOrError(backfillId: $id) {
  ... on PartitionBackfill { status } } }"""
_NO_WELCOME = "mutation { setNuxSeen }"  # a dialogue that would lie over everything


def main() -> int:
    """Exit code 2 where there is nothing to picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:3000", help="of the user interface")
    parser.add_argument("--out", type=Path, default=PROJECT / "docs" / "pictures", help="folder for the pictures")
    chosen = parser.parse_args()
    browser = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if browser is None:
        print("no Chromium: apt-get install chromium", file=sys.stderr)
        return 2
    try:
        seeds = accepted_seeds(chosen.url)
    except OSError as error:
        print(f"nothing answers at {chosen.url} ({error}): start `facet ui`", file=sys.stderr)
        return 2
    if not seeds:
        print("no accepted task to show: `facet run` first", file=sys.stderr)
        return 2
    ask(chosen.url, _NO_WELCOME)
    backfill = backfill_all(chosen.url, seeds)
    groups = ",".join(f"global@global:{group}" for group in GROUPS)
    pages: dict[str, str] = {
        "asset-graph": f"/asset-groups?expanded={groups}",
        "component": f"/assets/verifier?view=partitions&partition={seeds[0]}",
        "backfill": f"/runs/b/{backfill}",
        "yield-report": "/assets/yield_report?view=events",
    }
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name, page in pages.items():
        picture = chosen.out / f"{name}.png"
        photograph(browser, f"{chosen.url}{page}", picture, **WIDE if name == "asset-graph" else {})
        print(f"{picture} {picture.stat().st_size // 1000} kB")
    return 0


def ask(url: str, query: str, **variables: Any) -> dict[str, Any]:
    """The data of a GraphQL answer. Raises OSError where nobody answers, RuntimeError where the answer is an error."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{url}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        answer = json.load(response)
    if "errors" in answer:
        raise RuntimeError(answer["errors"][0]["message"])
    data: dict[str, Any] = answer["data"]
    return data


def accepted_seeds(url: str) -> list[str]:
    """Seeds whose task is there."""
    statuses = ask(url, _SEEDS)["assetNodeOrError"].get("assetPartitionStatuses") or {}
    return list(statuses.get("materializedPartitions") or ())


def backfill_all(url: str, seeds: list[str]) -> str:
    """Launch a backfill over all components of the seeds and wait for its end; its id."""
    wanted = [{"path": [name]} for name in COMPONENTS]
    launched = ask(url, _LAUNCH, params={"assetSelection": wanted, "partitionNames": seeds})["launchPartitionBackfill"]
    if launched["__typename"] != "LaunchBackfillSuccess":
        raise RuntimeError(f"the backfill was not launched: {launched}")
    backfill = str(launched["backfillId"])
    while ask(url, _STATUS, id=backfill)["partitionBackfillOrError"]["status"] in {"REQUESTED", "COMPLETING"}:
        time.sleep(2)
    return backfill


def photograph(
    browser: str,
    url: str,
    picture: Path,
    *,
    size: tuple[int, int] = SIZE,
    cut: tuple[int, int, int, int] | None = None,
) -> None:
    """One page (or a part: left, top, right, bottom) as it looks when it has come to rest, with as many colours as fit
    into the limit.
    """
    with tempfile.TemporaryDirectory() as profile:
        raw = Path(profile) / "page.png"
        subprocess.run(
            [
                browser,
                "--headless=new",
                "--no-sandbox",  # in a container as root there is no other way; only our own page is opened
                "--disable-gpu",
                "--hide-scrollbars",
                f"--user-data-dir={profile}/profile",
                f"--window-size={size[0]},{size[1]}",
                f"--virtual-time-budget={SETTLE_MS}",
                f"--screenshot={raw}",
                url,
            ],
            check=True,
            capture_output=True,
            timeout=300,
        )
        with Image.open(raw) as page:
            part = page.convert("RGB").crop(cut or (0, 0, *page.size))
            part.thumbnail((1800, 1800))
            for colours in (256, 128, 64, 32, 16):
                part.quantize(colours, dither=Image.Dither.NONE).save(picture, optimize=True)
                if picture.stat().st_size <= LIMIT:
                    return


if __name__ == "__main__":
    sys.exit(main())
