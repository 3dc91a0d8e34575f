"""The loop, context policies, budgets, models, and the trajectory they leave."""

from .answer import Answer, Citation, parse_answer
from .budget import Budget, Spent, StopReason
from .context import POLICIES, level3
from .loop import Agent, Result
from .models import default_model, open_model
from .scout import SCOUT
from .trajectory import Event, read_events

__all__ = [
    "POLICIES", "SCOUT", "Agent", "Answer", "Budget", "Citation", "Event", "Result", "Spent", "StopReason",
    "default_model", "level3", "open_model", "parse_answer", "read_events",
]  # fmt: skip
