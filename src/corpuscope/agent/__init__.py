"""The loop, context policies, budgets, models, and the trajectory they leave."""

from typing import TYPE_CHECKING

from ..lazy import lazily
from .answer import ANSWER_FORM, Answer, Citation, parse_answer
from .budget import Budget, Spent, StopReason
from .ranking import RANKING_FORM, parse_ranking
from .scout import SCOUT

if TYPE_CHECKING:
    from .context import PLACEHOLDER, POLICIES, level3
    from .harness import DEFAULT_MODEL, Job, run_harness
    from .loop import Agent, Result
    from .models import default_model, open_model
    from .ranker import RANKER
    from .tags import grammar_of, tag_model
    from .trajectory import Event, EventLog, Past, advance, first_request, is_written, read_events, replay

__getattr__ = lazily(
    __name__,
    {
        "DEFAULT_MODEL": ".harness", "PLACEHOLDER": ".context", "POLICIES": ".context", "RANKER": ".ranker", "Agent": ".loop", "Event": ".trajectory", "EventLog": ".trajectory",
        "Job": ".harness", "Result": ".loop", "default_model": ".models", "grammar_of": ".tags", "level3": ".context",
        "open_model": ".models", "Past": ".trajectory", "advance": ".trajectory", "first_request": ".trajectory", "is_written": ".trajectory", "read_events": ".trajectory", "replay": ".trajectory", "run_harness": ".harness", "tag_model": ".tags",
    },
)  # fmt: skip

__all__ = [
    "ANSWER_FORM", "DEFAULT_MODEL", "PLACEHOLDER", "POLICIES", "RANKER", "RANKING_FORM", "SCOUT", "Agent", "Answer", "Budget", "Citation",
    "Event", "EventLog", "Job", "Past", "Result", "Spent", "StopReason", "advance", "default_model", "first_request", "grammar_of", "is_written",
    "level3", "open_model", "parse_answer", "parse_ranking", "read_events", "replay", "run_harness", "tag_model",
]  # fmt: skip
