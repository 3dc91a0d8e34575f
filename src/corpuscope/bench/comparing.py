"""Two runs over the same questions: what sets them apart, and whether it is more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .analysis import cross_tab
from .evaluation import Row
from .statistics import Interval, McNemar, bootstrap, cannot_tell, holm, mcnemar

PAIRED = ("coverage_mean", "localization", "nDCG@10", "f1", "tool_calls", "seconds", "dollars")
"""Measures whose differences get an interval, besides accuracy."""


def compare(first: Sequence[Row], second: Sequence[Row], *, tests: int = 1) -> dict[str, Any]:
    """Of the questions that both have: the cross-tab, McNemar's test, and the mean difference (second minus first) of each
    measure with its interval."""
    tab = cross_tab(first, second)
    pairs = [(True, True)] * len(tab["both"]) + [(True, False)] * len(tab["first"])
    pairs += [(False, True)] * len(tab["second"]) + [(False, False)] * len(tab["neither"])
    test = mcnemar([a for a, _ in pairs], [b for _, b in pairs])
    differences: dict[str, Interval | None] = {
        "accuracy": bootstrap([float(b) - float(a) for a, b in pairs]),
        **{name: bootstrap(_differences(first, second, name)) for name in PAIRED},
    }
    return {
        "questions": len(pairs),
        "cross_tab": tab,
        "mcnemar": test,
        "cannot_tell": cannot_tell(test, tests),
        "differences": {name: interval for name, interval in differences.items() if interval},
    }


def against_first(runs: Sequence[Sequence[Row]]) -> list[dict[str, Any]]:
    """Each of the later runs compared with the first; the p-values are corrected for being several (Holm)."""
    found = [compare(runs[0], rows, tests=len(runs) - 1) for rows in runs[1:]]
    for comparison, p in zip(found, holm([comparison["mcnemar"].p for comparison in found]), strict=True):
        comparison["p_holm"] = p
    return found


def _differences(first: Sequence[Row], second: Sequence[Row], name: str) -> list[float]:
    other = {row["query_id"]: row.get(name) for row in second}
    pairs = [(row.get(name), other.get(row["query_id"])) for row in first]
    return [float(b) - float(a) for a, b in pairs if a is not None and b is not None]


__all__ = ["McNemar", "against_first", "compare"]
