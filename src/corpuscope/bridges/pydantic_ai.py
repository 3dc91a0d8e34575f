"""Tools for an agent of pydantic-ai: `Agent(model, tools=pydantic_ai_tools(tools))`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_ai import ToolReturn
from pydantic_ai.tools import Tool as AgentTool

from ..workspace import Tool
from .schemas import call_tool


def pydantic_ai_tools(tools: Mapping[str, Tool]) -> list[AgentTool[Any]]:
    """The data of an observation is the metadata of its tool return, which the model is not shown."""
    return [_one(tool, tools) for tool in tools.values()]


def _one(tool: Tool, tools: Mapping[str, Tool]) -> AgentTool[Any]:
    async def run(**arguments: Any) -> ToolReturn[str]:
        observation, _ = await call_tool(tools, tool.name, arguments)
        return ToolReturn(observation.text, metadata=dict(observation.data))

    return AgentTool.from_schema(run, name=tool.name, description=tool.description, json_schema=tool.schema)
