"""The headings that documents have already: one file a kind of document, and the choice between them."""

from .choose import propose_headings

__all__ = ["propose_headings"]
