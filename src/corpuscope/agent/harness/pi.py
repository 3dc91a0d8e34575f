"""The Pi harness as the loop: run in its RPC mode, its own tools off, ours offered by the extension over a socket."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelResponse, ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from ...bridges import Context, Session, mcp_server, pi_extension, serve_socket
from ...errors import SetupError, UsageError
from ..budget import StopReason
from ..loop import Result
from .job import Job, Record, recorded

PACKAGE = "@earendil-works/pi-coding-agent@0.74.2"
"""The version whose protocol is spoken here."""

PROGRAM = "CORPUSCOPE_PI"
"""Environment variable with the path of pi, where it is not on PATH."""

MAX_LINE = 256 << 20
"""Bytes of one event: each repeats its whole message."""

SETTLED_SECONDS = 2.0
"""After an error without a word of a retry, it has ended."""

OURS = "corpuscope"
"""What Pi calls the provider at a server of one's own."""


async def pi(job: Job) -> Result:
    """One question, one process of Pi. Its model names are `provider/id`."""
    program = os.environ.get(PROGRAM) or shutil.which("pi")
    if not program or not os.access(program, os.X_OK):
        raise SetupError(f"the harness pi needs its program: npm install -g {PACKAGE}, or its path in {PROGRAM}")
    if ":" not in job.model and not job.base_url:
        raise UsageError(f"pi asks a language model: --model provider:model, not {job.model}")
    return await recorded(job, lambda record: _run(job, record, program))


async def _run(job: Job, record: Record, program: str) -> Result:
    session = Session(job.workspace.corpus, job.tools)

    async def only(context: Context) -> Session:
        return session

    with tempfile.TemporaryDirectory(prefix="corpuscope-") as home:
        socket = Path(home) / "tools"
        async with (
            serve_socket(mcp_server("corpus", "", only, record.told), socket),
            _started(job, program, Path(home), socket) as process,
        ):
            assert process.stdin and process.stdout
            prompt = {"id": "1", "type": "prompt", "message": job.question}
            process.stdin.write(json.dumps(prompt).encode() + b"\n")
            await process.stdin.drain()
            return await _watch(job, record, process)


async def _watch(job: Job, record: Record, process: asyncio.subprocess.Process) -> Result:
    last: Mapping[str, Any] = {}
    failed = False
    while (event := await _next_event(process, SETTLED_SECONDS if failed else None)) is not None:
        kind = event.get("type")
        if kind == "response" and not event.get("success"):
            raise SetupError(f"pi refuses the question: {_short(event.get('error'))}")
        if kind == "message_end" and event["message"].get("role") == "assistant":
            last = event["message"]
            failed = last.get("stopReason") == "error"
            if not failed:
                record.response(_response(job, last))
        elif kind == "turn_end":
            results = event.get("toolResults") or []
            record.results({r["toolCallId"]: (_text(r), bool(r.get("isError"))) for r in results})
            if results and (limit := record.spent.exceeds(job.budget)):
                return record.end("", limit)
        elif kind == "auto_retry_start":
            record.write("retry", error=_short(event.get("errorMessage")), wait=event.get("delayMs", 0) / 1000)
            failed = False
        elif kind == "agent_end" and not failed:
            return record.end(_text(last), StopReason.ANSWERED)
    if failed:
        return record.end("", StopReason.MODEL_ERROR, _short(last.get("errorMessage")))
    raise SetupError("pi ended without an answer.")


async def _next_event(process: asyncio.subprocess.Process, patience: float | None) -> dict[str, Any] | None:
    """What Pi tells next; None when it has ended, or nothing came for `patience` seconds."""
    assert process.stdout
    while True:
        try:
            line = await asyncio.wait_for(process.stdout.readline(), patience)
        except TimeoutError:
            return None
        if not line:
            return None
        try:
            event = json.loads(line)
        except ValueError:
            continue  # a word of its own on the way up
        if isinstance(event, dict):
            return event


@asynccontextmanager
async def _started(job: Job, program: str, home: Path, socket: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Pi with nothing of the user's settings, sessions, skills or context files, and with our tools only."""
    extension = home / "corpuscope.ts"
    extension.write_text(pi_extension([]))
    settings = home / "agent"
    settings.mkdir()
    provider, model = _provider(job, settings)
    arguments = [
        "--mode", "rpc", "--provider", provider, "--model", model, "--no-session", "--no-builtin-tools", "--no-extensions",
        "--extension", str(extension), "--no-skills", "--no-prompt-templates", "--no-themes", "--no-context-files",
        "--append-system-prompt", job.system_prompt,
    ]  # fmt: skip
    if thinking := job.settings.get("thinking"):
        arguments += ["--thinking", str(thinking)]
    work = home / "work"
    work.mkdir()
    environment = os.environ | {
        "PI_CODING_AGENT_DIR": str(settings), "PI_OFFLINE": "1", "PI_TELEMETRY": "0", "CORPUSCOPE_SOCKET": str(socket),
    }  # fmt: skip
    complaints = home / "stderr"
    with complaints.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            program, *arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=stderr, cwd=work,
            env=environment, limit=MAX_LINE, start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    except SetupError as error:
        said = complaints.read_text(errors="replace")[-2000:]
        raise SetupError(f"{error} {_short(said)}".strip()) from error
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def _provider(job: Job, settings: Path) -> tuple[str, str]:
    """What Pi calls the provider and the model. A server of one's own is written into its list of models."""
    if not job.base_url:
        provider, _, model = job.model.partition(":")
        return provider, model
    model = job.model.removeprefix("openai:")
    offered = {
        "baseUrl": job.base_url,
        "api": "openai-completions",
        "apiKey": "OPENAI_API_KEY" if os.environ.get("OPENAI_API_KEY") else "none",  # the name of the variable
        "models": [{"id": model, "reasoning": bool(job.settings.get("thinking"))}],
    }
    (settings / "models.json").write_text(json.dumps({"providers": {OURS: offered}}))
    return OURS, model


def _response(job: Job, message: Mapping[str, Any]) -> ModelResponse:
    parts: list[ModelResponsePart] = []
    for part in message.get("content", []):
        if part["type"] == "text":
            parts.append(TextPart(part["text"]))
        elif part["type"] == "thinking":
            parts.append(ThinkingPart(part["thinking"]))
        elif part["type"] == "toolCall":
            parts.append(ToolCallPart(part["name"], part["arguments"], part["id"]))
    usage = message.get("usage") or {}
    read, written = int(usage.get("cacheRead") or 0), int(usage.get("cacheWrite") or 0)
    return ModelResponse(
        parts=parts,
        usage=RequestUsage(
            input_tokens=int(usage.get("input") or 0) + read + written,
            cache_read_tokens=read,
            cache_write_tokens=written,
            output_tokens=int(usage.get("output") or 0),
        ),
        model_name=job.model.partition(":")[2] or job.model,
        provider_name=None if job.base_url else job.model.partition(":")[0],
        provider_url=job.base_url or None,
    )


def _text(message: Mapping[str, Any]) -> str:
    parts = message.get("content") or []
    return "\n".join(part["text"] for part in parts if part.get("type") == "text").strip()


def _short(text: object) -> str:
    return " ".join(str(text or "").split())[:300]
