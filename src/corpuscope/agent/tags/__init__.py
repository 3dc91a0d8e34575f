"""Agents that speak in tags: one adapter to our loop, one small grammar for each."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from .grammar import Grammar

__all__ = ["grammar_of", "tag_model"]


def grammar_of(name: str) -> Grammar:
    """The grammar in the file of that name."""
    found: Grammar = import_module(f".{name.replace('-', '_')}", __name__).GRAMMAR
    return found


def tag_model(name: str, model: Model) -> Model:
    """`model`, spoken to in the tags of the grammar `name`. Raises `UsageError` for a model that is not reached through an
    OpenAI-compatible server."""
    speak: Callable[[Grammar, Model], Model] = import_module(".model", __name__).TagModel
    return speak(grammar_of(name), model)
