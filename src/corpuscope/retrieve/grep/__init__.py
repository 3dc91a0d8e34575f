"""Indexed grep: which documents can match a pattern, from an index of their n-grams."""

from .index import GrepIndex
from .pattern import NOTHING, Dialect, Need, Unreadable, literals, need_of, need_of_literal, one_of

__all__ = [
    "NOTHING", "Dialect", "GrepIndex", "Need", "Unreadable", "literals", "need_of", "need_of_literal", "one_of",
]  # fmt: skip
