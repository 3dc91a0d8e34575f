"""The loop, context policies, budgets, models, and the trajectory they leave."""

from .answer import ANSWER_FORM, Answer, Citation, parse_answer
from .budget import Budget, Spent, StopReason
from .context import POLICIES, level3
from .harness import DEFAULT_MODEL, HARNESSES, Job, run_harness
from .loop import Agent, Result
from .models import default_model, open_model
from .ranker import RANKER
from .ranking import RANKING_FORM, parse_ranking
from .scout import SCOUT
from .tags import SPEECHES, grammar_of, tag_model
from .trajectory import Event, read_events

__all__ = [
    "ANSWER_FORM", "DEFAULT_MODEL", "HARNESSES", "POLICIES", "RANKER", "RANKING_FORM", "SCOUT", "SPEECHES", "Agent", "Answer", "Budget", "Citation", "Event", "Job", "Result", "Spent", "StopReason",
    "default_model", "grammar_of", "level3", "open_model", "parse_answer", "parse_ranking", "read_events", "run_harness", "tag_model",
]  # fmt: skip
