"""What a caller hears while tables are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .purse import Estimate


@dataclass(frozen=True, slots=True)
class Watch:
    """What a caller hears while it runs. `confirm(estimate)` is asked before anything is paid; False pays nothing."""

    progress: Callable[[int, int | None], None] = lambda done, total: None
    confirm: Callable[[Estimate], bool] = lambda estimate: True
    paying: Callable[[int, int, float], None] = lambda done, total, dollars: None
    retry: Callable[[str, float], None] = lambda error, wait: None
    note: Callable[[str], None] = lambda text: None
