"""corpuscope: an agent answers hard questions from a document collection by working on the text itself."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import Corpus
    from .systems import ask, ask_async
    from .workspace import Workspace

__version__ = "0.1.0"
_HOMES = {"Corpus": ".api", "Workspace": ".workspace", "ask": ".systems", "ask_async": ".systems"}
__all__ = ["Corpus", "Workspace", "__version__", "ask", "ask_async"]


def __getattr__(name: str) -> Any:
    """Load the library at the first use of it: `corpuscope --help` needs none."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)
