"""Tools and documents as a server of the Model Context Protocol, over the official SDK."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from ..corpus import Corpus, Entry
from ..errors import CorpuscopeError
from ..workspace import Observation, Tool, clean
from .schemas import call_tool

PAGE = 200
"""Documents in one page of resources."""

MAX_RESOURCE = 4 << 20
"""Bytes of a document that is handed out whole."""

PROGRESS_SECONDS = 1.0
"""Between two notes that a call is still at work."""

SHOW_STRUCTURE = ("claude", "codex")
"""How the names of clients begin that show a model the structured content of a result and not its text."""

SCHEME = "corpus:///"

Context = ServerRequestContext[Any, Any]
Told = Callable[[str, str, Mapping[str, Any], Observation, bool, float], None]
"""`told(id, name, arguments, observation, failed, seconds)` of each call; `id` is the client's own, '' without one."""


@dataclass(frozen=True, slots=True)
class Session:
    """What one client works with, of its own."""

    corpus: Corpus
    tools: Mapping[str, Tool]


def mcp_server(
    name: str, instructions: str, session: Callable[[Context], Awaitable[Session]], told: Told | None = None
) -> Server[Any]:
    """A server that offers the tools of `session(context)`, asked anew for each request, and its corpus as resources."""

    async def list_tools(context: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in (await session(context)).tools.values()])

    async def call(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        started = time.monotonic()
        alive = asyncio.create_task(_tell_progress(context, params.name))
        try:
            observation, failed = await call_tool((await session(context)).tools, params.name, params.arguments)
        except CorpuscopeError as error:  # a person at the server must act, and the client must know
            observation, failed = Observation(f"Error: {error}"), True
        finally:
            alive.cancel()
        seconds = time.monotonic() - started
        if told:
            told(_call_id(params), params.name, params.arguments or {}, observation, failed, seconds)
        await context.session.report_progress(seconds + 1, message=f"{params.name} is done")
        return _result(observation, failed, _shows_structure(context))

    async def list_resources(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        corpus = (await session(context)).corpus
        found = await asyncio.to_thread(corpus.manifest.page, unquote(params.cursor or "") if params else "", PAGE)
        more = quote(found[-1].path) if len(found) == PAGE else None
        return types.ListResourcesResult(resources=[_resource(entry) for entry in found], next_cursor=more)

    async def list_templates(context: Context, params: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=SCHEME + "{+path}", name="document", mime_type="text/plain",
            description="A document of the corpus by its path, as search and rg print it.",
        )  # fmt: skip
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        text = await asyncio.to_thread(_read, (await session(context)).corpus, params.uri)
        contents = types.TextResourceContents(uri=params.uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[contents])

    return Server(
        name, instructions=instructions, on_list_tools=list_tools, on_call_tool=call, on_list_resources=list_resources,
        on_list_resource_templates=list_templates, on_read_resource=read,
    )  # fmt: skip


def _described(tool: Tool) -> types.Tool:
    # None of them changes anything that outlives the session: W is read-only, its scratch goes with it.
    hints = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
    return types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema, annotations=hints)


def _shows_structure(context: Context) -> bool:
    """Whether the client is one that gives its model the structured content in place of the text."""
    client = context.session.client_params
    return client is not None and client.client_info.name.startswith(SHOW_STRUCTURE)


def _result(observation: Observation, failed: bool, shows_structure: bool) -> types.CallToolResult:
    """Text for the model and data for the program. The data also holds the text, for a client that passes on nothing else;
    those that are known to would show it as JSON, and get the data where no model sees it."""
    data = dict(observation.data)
    if "imported" in data:  # thousands of docids, which only metrics want
        data["imported"] = len(data["imported"])
    structured = None if failed or shows_structure else {"text": observation.text, **data}
    content = types.TextContent(text=observation.text)
    result = types.CallToolResult(content=[content], structured_content=structured, is_error=failed)
    if shows_structure and not failed:
        result.meta = {"corpuscope/data": data}
    return result


def _call_id(params: types.CallToolRequestParams) -> str:
    meta: Mapping[str, Any] = params.meta or {}
    return str(meta.get("claudecode/toolUseId") or meta.get("corpuscope/callId") or "")


async def _tell_progress(context: Context, name: str) -> None:
    """Note each second that a call is at work; a client that asked for none is sent none."""
    seconds = 0.0
    while True:
        await context.session.report_progress(seconds, message=f"{name}: {seconds:.0f} s")
        await asyncio.sleep(PROGRESS_SECONDS)
        seconds += PROGRESS_SECONDS


def _resource(entry: Entry) -> types.Resource:
    return types.Resource(
        uri=SCHEME + quote(entry.path),
        name=entry.path,
        title=entry.title or None,
        mime_type="text/plain",
        size=entry.bytes,
    )


def _read(corpus: Corpus, uri: str) -> str:
    """The text of a document. Only the manifest is asked whether it exists: no path is followed anywhere."""
    entry = corpus.manifest.by_path(unquote(uri.removeprefix(SCHEME))) if uri.startswith(SCHEME) else None
    if entry is None:
        raise MCPError(code=types.INVALID_PARAMS, message=f"no document {clean(uri.encode(errors='replace'))[:300]}")
    if entry.bytes > MAX_RESOURCE:
        raise MCPError(
            code=types.INVALID_PARAMS,
            message=f"{entry.path} has {entry.bytes:,} bytes, too many to hand out whole; read it by lines with the tools",
        )
    return clean(corpus.store.read(entry.path))
