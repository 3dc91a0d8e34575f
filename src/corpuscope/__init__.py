"""corpuscope: an agent answers hard questions from a document collection by working on the text itself."""

from typing import TYPE_CHECKING

from .lazy import lazily

if TYPE_CHECKING:
    from .api import Corpus
    from .systems import ask, ask_async, open_tools
    from .workspace import Workspace

__version__ = "0.1.0"
__getattr__ = lazily(
    __name__,
    {
    "Corpus": ".api", "Workspace": ".workspace", "ask": ".systems", "ask_async": ".systems", "open_tools": ".systems",
},
)  # fmt: skip
__all__ = ["Corpus", "Workspace", "__version__", "ask", "ask_async", "open_tools"]
