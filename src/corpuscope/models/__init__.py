"""Models: opening one by its name, one request with retries, its price; vectors of texts."""

from .background import awaited
from .embedding import Embedding
from .local import local_model
from .open import at_server, open_model, served_model
from .over_http import asked_over_http
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
    say_again,
)

__all__ = [
    "Backoff", "ContextOverflow", "Embedding", "ModelFailed", "asked_over_http", "at_server", "awaited", "context_window", "estimate_price", "final_error", "local_model", "one_line", "open_model", "price", "request", "retried", "say_again", "served_model",
]  # fmt: skip
