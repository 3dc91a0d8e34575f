"""Language models: opening one by its name, one request with retries, its price."""

from .open import open_model, served_model
from .request import (
    Backoff,
    ContextOverflow,
    ModelFailed,
    context_window,
    estimate_price,
    final_error,
    one_line,
    price,
    request,
    retried,
)

__all__ = [
    "Backoff", "ContextOverflow", "ModelFailed", "context_window", "estimate_price", "final_error", "one_line", "open_model", "price", "request", "retried",
    "served_model",
]  # fmt: skip
