"""Tools for LangChain and LangGraph: `create_agent(model, langchain_tools(tools))`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ..errors import SetupError
from ..workspace import Tool
from .schemas import call_tool

if TYPE_CHECKING:
    from langchain_core.tools import StructuredTool


def langchain_tools(tools: Mapping[str, Tool]) -> list[StructuredTool]:
    """The data of an observation is the artifact of its tool message, which the model is not shown."""
    return [_one(tool, tools) for tool in tools.values()]


def _one(tool: Tool, tools: Mapping[str, Tool]) -> StructuredTool:
    try:
        from langchain_core.tools import StructuredTool
    except ImportError as error:
        raise SetupError("langchain_tools needs a package: pip install 'corpuscope[langchain]'") from error

    async def run(**arguments: Any) -> tuple[str, dict[str, Any]]:
        observation, _ = await call_tool(tools, tool.name, arguments)
        return observation.text, dict(observation.data)

    def run_now(**arguments: Any) -> tuple[str, dict[str, Any]]:
        return _without_loop(run(**arguments))

    return StructuredTool.from_function(
        func=run_now, coroutine=run, name=tool.name, description=tool.description, args_schema=tool.schema,
        infer_schema=False, response_format="content_and_artifact",
    )  # fmt: skip


def _without_loop(work: Coroutine[Any, Any, tuple[str, dict[str, Any]]]) -> tuple[str, dict[str, Any]]:
    """For callers that are not asynchronous, also where a loop runs in their thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
