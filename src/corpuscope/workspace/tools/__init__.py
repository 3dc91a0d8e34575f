"""The tools an agent may get. Each returns text for the model and data for the record."""

from ...retrieve import Retriever
from ..workspace import Workspace
from .bash import bash_tool, dci_bash_tool
from .grep import grep_tool
from .import_grep import import_grep_tool
from .pages import paged_tools
from .passages import Passage, Show, passage_tools
from .read import read_tool
from .search import search_tool
from .snippets import snippet_tools
from .tool import MalformedCall, Observation, Tool

__all__ = [
    "MalformedCall", "Observation", "Passage", "Show", "Tool", "bash_tool", "dci_tools", "grep_tool", "import_grep_tool", "paged_tools", "passage_tools", "read_tool", "rise_tools", "search_tool",
    "snippet_tools",
]  # fmt: skip


def rise_tools(workspace: Workspace, retriever: Retriever, k: int = 1000) -> dict[str, Tool]:
    """name -> tool, over one workspace; `k` documents are imported for each sub-query."""
    tools = (search_tool(workspace, retriever, k), bash_tool(workspace), read_tool(workspace))
    return {tool.name: tool for tool in tools}


def dci_tools(workspace: Workspace) -> dict[str, Tool]:
    """name -> tool of DCI-Agent-Lite and its ablation, over a workspace that is the whole corpus."""
    tools = (dci_bash_tool(workspace), grep_tool(workspace), read_tool(workspace))
    return {tool.name: tool for tool in tools}
