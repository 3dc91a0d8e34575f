"""Tools as plain JSON for one's own loop over OpenAI's or Anthropic's API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ToolError
from ..workspace import Observation, Tool


def openai_tools(tools: Mapping[str, Tool]) -> list[dict[str, Any]]:
    """For `tools=` of chat completions: `{"type": "function", "function": {name, description, parameters}}`."""
    return [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.schema}}
        for t in tools.values()
    ]


def anthropic_tools(tools: Mapping[str, Tool]) -> list[dict[str, Any]]:
    """For `tools=` of messages: `{name, description, input_schema}`."""
    return [{"name": t.name, "description": t.description, "input_schema": t.schema} for t in tools.values()]


async def call_tool(
    tools: Mapping[str, Tool], name: str, arguments: str | Mapping[str, Any] | None
) -> tuple[Observation, bool]:
    """(observation, whether the call failed) of a call as a model made it.

    A call that failed is an observation too: its text says how to repair the call, and belongs to the model.
    """
    try:
        if name not in tools:
            raise ToolError(f"there is no tool {name!r}; the tools are {', '.join(tools)}")
        return await tools[name].call(arguments), False
    except ToolError as error:
        return Observation(f"Error: {error}"), True
