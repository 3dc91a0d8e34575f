"""The bounded file space W, the sandbox around it, and the tools an agent gets."""

from .execute import Outcome, execute
from .output import clean, clean_line
from .programs import bubblewrap, front, ripgrep
from .sandbox import Limits, Sandbox
from .shell import interactive_shell
from .tools import (
    MalformedCall,
    Observation,
    Passage,
    Show,
    Tool,
    bash_tool,
    dci_tools,
    grep_tool,
    import_grep_tool,
    paged_tools,
    passage_tools,
    read_tool,
    rise_tools,
    search_tool,
    snippet_tools,
)
from .workspace import Workspace

__all__ = [
    "Limits", "MalformedCall", "Observation", "Outcome", "Passage", "Sandbox", "Show", "Tool", "Workspace", "bash_tool", "bubblewrap", "clean", "clean_line", "dci_tools", "execute", "front", "grep_tool", "import_grep_tool",
    "interactive_shell", "paged_tools", "passage_tools", "read_tool", "ripgrep", "rise_tools", "search_tool", "snippet_tools",
]  # fmt: skip
