"""Other people's loops in the place of ours: they ask the model, our tools do what it says, the same events are written."""

from __future__ import annotations

from ..loop import Result
from .job import Job

DEFAULT_MODEL = {"claude-code": "anthropic:claude-sonnet-4-6"}
"""Harness -> the model when none is named (DCI, section 3.2)."""

__all__ = ["DEFAULT_MODEL", "Job", "run_harness"]


async def run_harness(name: str, job: Job) -> Result:
    """Let the harness answer the question of `job`.

    Raises `SetupError` where its program is missing, and `CorpuscopeError` for what else a person has to repair.
    """
    if name == "claude-code":
        from .claude_code import claude_code

        return await claude_code(job)
    from .pi import pi

    return await pi(job)
