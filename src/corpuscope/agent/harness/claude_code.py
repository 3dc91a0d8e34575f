"""Claude Code as the loop (DCI-Agent-CC): its own tools are off, ours are its only ones."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelResponse, ModelResponsePart, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from ...bridges import Context, Session, mcp_server
from ...errors import SetupError, UsageError
from ..budget import StopReason
from ..loop import Result
from .job import Job, Record, recorded

if TYPE_CHECKING:
    from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ResultMessage

SERVER = "corpus"
PREFIX = f"mcp__{SERVER}__"

STOPS = {
    "error_max_turns": StopReason.MODEL_CALLS,
    "error_max_budget_usd": StopReason.MONEY,
}
"""How Claude Code says that a limit stopped it."""


async def claude_code(job: Job) -> Result:
    """One question, one session. Only `anthropic:` models, or any that an Anthropic-compatible server at `base_url` has."""
    try:
        import claude_agent_sdk  # noqa: F401
    except ImportError as error:
        raise SetupError("the harness claude-code needs a package: pip install 'corpuscope[claude-code]'") from error
    if not job.base_url and not job.model.startswith("anthropic:"):
        raise UsageError(f"claude-code asks Anthropic's models: --model anthropic:..., not {job.model}")
    return await recorded(job, lambda record: _run(job, record))


async def _run(job: Job, record: Record) -> Result:
    from claude_agent_sdk import (
        AssistantMessage,
        ClaudeSDKError,
        ResultMessage,
        ToolResultBlock,
        UserMessage,
        query,
    )

    said: list[AssistantMessage] = []
    result: ResultMessage | None = None
    last = ""

    def reply_is_whole() -> None:
        nonlocal last
        if said:
            response = _response(said)
            record.response(response)
            last = "\n".join(part.content for part in response.parts if isinstance(part, TextPart)).strip()
            said.clear()

    with tempfile.TemporaryDirectory(prefix="corpuscope-") as empty:
        errors: list[str] = []
        messages = query(prompt=job.question, options=_options(job, record, empty, errors))
        try:
            async for message in messages:
                if isinstance(message, AssistantMessage):
                    if said and said[0].message_id != message.message_id:
                        reply_is_whole()
                    said.append(message)
                elif isinstance(message, UserMessage) and isinstance(message.content, list):
                    reply_is_whole()
                    blocks = [block for block in message.content if isinstance(block, ToolResultBlock)]
                    record.results({b.tool_use_id: (_text(b.content), bool(b.is_error)) for b in blocks})
                elif isinstance(message, ResultMessage):
                    result = message
        except ClaudeSDKError as error:
            if result is None:
                detail = " ".join([str(error), *errors[-3:]])[:500]
                raise SetupError(f"Claude Code cannot work here: {' '.join(detail.split())}") from error
        finally:
            await messages.aclose()  # type: ignore[attr-defined]
    if result is None:
        raise SetupError(f"Claude Code ended without a result: {' '.join(' '.join(errors[-3:]).split())[:500]}")
    reply_is_whole()
    if result.total_cost_usd is not None:
        record.spent.dollars = result.total_cost_usd  # with what it asked beside the conversation
    return _ended(record, result, last)


def _ended(record: Record, result: ResultMessage, last: str) -> Result:
    if stop := STOPS.get(result.subtype):
        return record.end("", stop)
    if result.is_error:
        detail = " ".join(str(result.result or result.errors or result.subtype).split())[:300]
        return record.end("", StopReason.MODEL_ERROR, detail)
    return record.end(result.result or last, StopReason.ANSWERED)


def _options(job: Job, record: Record, empty: str, errors: list[str]) -> ClaudeAgentOptions:
    from claude_agent_sdk import ClaudeAgentOptions

    session = Session(job.workspace.corpus, job.tools)

    async def only(context: Context) -> Session:
        return session

    environment = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    if job.base_url:
        environment["ANTHROPIC_BASE_URL"] = job.base_url.rstrip("/").removesuffix("/v1")
        environment.setdefault("ANTHROPIC_API_KEY", os.environ.get("ANTHROPIC_API_KEY", "none"))
    return ClaudeAgentOptions(
        tools=[],  # no web, no subagents, no files and commands of the machine
        mcp_servers={SERVER: {"type": "sdk", "name": SERVER, "instance": mcp_server(SERVER, "", only, record.told)}},
        strict_mcp_config=True,
        allowed_tools=[PREFIX + name for name in job.tools],
        permission_mode="dontAsk",
        system_prompt={"type": "preset", "preset": "claude_code", "append": job.system_prompt},
        setting_sources=[],
        model=job.model.removeprefix("anthropic:"),
        effort=job.settings.get("thinking"),
        max_turns=job.budget.model_calls,
        max_budget_usd=job.budget.dollars,
        cwd=empty,
        env=environment,
        extra_args={"no-session-persistence": None},
        stderr=errors.append,
    )


def _response(messages: list[AssistantMessage]) -> ModelResponse:
    """The messages that are one reply of the model: Claude Code tells each block by itself."""
    from claude_agent_sdk import TextBlock, ThinkingBlock, ToolUseBlock

    parts: list[ModelResponsePart] = []
    for block in (block for message in messages for block in message.content):
        if isinstance(block, TextBlock):
            parts.append(TextPart(block.text))
        elif isinstance(block, ThinkingBlock):
            parts.append(ThinkingPart(block.thinking, signature=block.signature, provider_name="anthropic"))
        elif isinstance(block, ToolUseBlock):
            parts.append(ToolCallPart(block.name.removeprefix(PREFIX), block.input, block.id))
    usage = _usage(messages[-1].usage or {})
    return ModelResponse(parts=parts, usage=usage, model_name=messages[-1].model, provider_name="anthropic")


def _usage(values: Mapping[str, Any]) -> RequestUsage:
    """Anthropic counts cached tokens beside the input; here they are part of it."""
    read, written = (int(values.get(f"cache_{kind}_input_tokens") or 0) for kind in ("read", "creation"))
    return RequestUsage(
        input_tokens=int(values.get("input_tokens") or 0) + read + written,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=int(values.get("output_tokens") or 0),
    )


def _text(content: str | list[dict[str, Any]] | None) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return content or ""
