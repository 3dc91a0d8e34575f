"""corpuscope: an agent answers hard questions from a document collection by working on the text itself."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import Corpus, Workspace, ask, ask_async

__version__ = "0.1.0"
__all__ = ["Corpus", "Workspace", "__version__", "ask", "ask_async"]


def __getattr__(name: str) -> Any:
    """Load the library at the first use of it: `corpuscope --help` needs none."""
    if name not in ("Corpus", "Workspace", "ask", "ask_async"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import api

    return getattr(api, name)
