"""The same tools as other programs want them: an MCP server, pydantic-ai, LangChain, plain schemas."""

from typing import TYPE_CHECKING

from ..lazy import lazily
from .extension import pi_extension
from .schemas import anthropic_tools, call_tool, openai_tools

if TYPE_CHECKING:
    from .langchain import langchain_tools
    from .mcp import Context, Session, Told, mcp_server
    from .pydantic_ai import pydantic_ai_tools
    from .socket import serve_socket

__getattr__ = lazily(
    __name__,
    {
    "Context": ".mcp", "Session": ".mcp", "Told": ".mcp", "langchain_tools": ".langchain", "mcp_server": ".mcp", "pydantic_ai_tools": ".pydantic_ai",
    "serve_socket": ".socket",
},
)  # fmt: skip
__all__ = [
    "Context", "Session", "Told", "anthropic_tools", "call_tool", "langchain_tools", "mcp_server", "openai_tools", "pi_extension", "pydantic_ai_tools", "serve_socket",
]  # fmt: skip
