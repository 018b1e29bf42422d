"""Harbor's own Terminus-2 on an exported task: one call of the `harbor` program per attempt, one job folder each.

Belongs here: the program and its environment. What the job folder says: jobs.py.
"""

import asyncio
import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from facet_dagster.adapters.harbor_leftovers import held, put_aside
from facet_dagster.errors import InfrastructureError, SettingsError
from facet_dagster.records.terms import RolloutTerms

SAID = 500  # characters of the program's last words in a message
STOP_S = 60.0  # for Harbor to remove its containers when it is interrupted


class HarborEngine:
    """TrialEngine over the `harbor` program. Raises SettingsError where it is not there, InfrastructureError where it
    leaves no job."""

    def __init__(self, base_url: str, api_key: str, terms: RolloutTerms) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._terms = terms

    async def run(self, task: Path, *, model: str, jobs: Path, name: str, whole: Callable[[Path], bool]) -> Path:
        """Let the agent attempt a task once; the job folder.

        A program that outlived the process that had started it is waited for, and what it did is taken. What one that
        was killed has left is put aside, and its containers are removed.
        """
        program = shutil.which(self._terms.harbor)
        if program is None:
            raise SettingsError(f"{self._terms.harbor!r} is not installed: set FACET_HARBOR to the `harbor` program")
        jobs.mkdir(parents=True, exist_ok=True)
        job = jobs / name
        async with held(job) as lock:
            if job.is_dir() and whole(job):
                return job
            await asyncio.to_thread(put_aside, job)
            await self._run(program, self.arguments(task, model=model, jobs=jobs, name=name), lock)
        return job

    async def _run(self, program: str, arguments: Sequence[str], lock: int) -> None:
        process = await asyncio.create_subprocess_exec(
            program, *arguments, env=self._environment(), pass_fds=(lock,),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        try:
            output, _ = await process.communicate()
        except asyncio.CancelledError:
            await _interrupt(process)
            raise
        if process.returncode != 0:
            said = " ".join(output.decode(errors="replace").split())[-SAID:]
            raise InfrastructureError(f"harbor ended with exit code {process.returncode}: {said}")

    def arguments(self, task: Path, *, model: str, jobs: Path, name: str) -> Sequence[str]:
        """What the program is called with; the replies are kept as the model wrote them."""
        terms = self._terms
        agent = {
            "api_base": self._base_url,
            "parser_name": terms.replies,
            "max_turns": str(terms.turns),
            "proactive_summarization_threshold": str(terms.handover_tokens),
            "model_info": f'{{"max_input_tokens": {terms.context_tokens}, "max_output_tokens": 16384}}',
            "trajectory_config": '{"raw_content": true}',
            "record_terminal_session": "false",
            "collect_rollout_details": str(terms.token_details).lower(),
        }
        options = [part for key, value in agent.items() for part in ("--ak", f"{key}={value}")]
        job = ["-o", str(jobs), "--job-name", name, "-q", "-y"]
        what = ["-p", str(task), "-a", "terminus-2", "-m", f"openai/{model}"]
        return ["run", *what, *options, *job, *terms.harbor_options]

    def _environment(self) -> dict[str, str]:
        quiet = {"HARBOR_TELEMETRY": "off", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        return {**os.environ, **quiet, "OPENAI_API_KEY": self._api_key or "none", "OPENAI_BASE_URL": self._base_url}


async def _interrupt(process: asyncio.subprocess.Process) -> None:
    """As Ctrl-C would: Harbor then removes what it started."""
    process.send_signal(signal.SIGINT)
    try:
        await asyncio.wait_for(process.wait(), STOP_S)
    except TimeoutError:
        process.kill()
        await process.wait()
