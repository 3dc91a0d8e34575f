"""Two runs over the same questions: what sets them apart, and whether it is more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .analysis import cross_tab
from .evaluation import Row
from .statistics import bootstrap, cannot_tell, holm, mcnemar, randomization

PAIRED = ("coverage_mean", "localization", "nDCG@10", "f1", "tool_calls", "seconds", "dollars")
"""Measures whose differences get an interval, besides accuracy."""


def compare(first: Sequence[Row], second: Sequence[Row], *, tests: int = 1) -> dict[str, Any]:
    """Of the questions that both have: who came out ahead where, a test of whether that is chance (McNemar's for right and wrong,
    randomization for rankings), and the mean difference (second minus first) of each measure with its interval."""
    ranked = _differences(first, second, "nDCG@10")
    if ranked:
        tab = {
            "first": [query_id for query_id, d in ranked.items() if d < 0],
            "second": [query_id for query_id, d in ranked.items() if d > 0],
            "equal": [query_id for query_id, d in ranked.items() if d == 0],
        }
        test, p = "randomization of nDCG@10", randomization(list(ranked.values()))
    else:
        tab = cross_tab(first, second)
        test, p = "McNemar, exact", mcnemar(len(tab["first"]), len(tab["second"]))
    measures = {"accuracy": "correct", **{name: name for name in PAIRED}}
    differences = {name: bootstrap(list(_differences(first, second, key).values())) for name, key in measures.items()}
    return {
        "questions": sum(map(len, tab.values())),
        "cross_tab": tab,
        "test": test,
        "p": p,
        "cannot_tell": cannot_tell(len(tab["first"]) + len(tab["second"]), tests),
        "differences": {name: interval for name, interval in differences.items() if interval},
    }


def against_first(runs: Sequence[Sequence[Row]]) -> list[dict[str, Any]]:
    """Each of the later runs compared with the first; the p-values are corrected for being several (Holm)."""
    found = [compare(runs[0], rows, tests=len(runs) - 1) for rows in runs[1:]]
    for comparison, p in zip(found, holm([comparison["p"] for comparison in found]), strict=True):
        comparison["p_holm"] = p
    return found


def _differences(first: Sequence[Row], second: Sequence[Row], name: str) -> dict[str, float]:
    other = {row["query_id"]: row.get(name) for row in second}
    pairs = {row["query_id"]: (row.get(name), other.get(row["query_id"])) for row in first}
    return {query_id: float(b) - float(a) for query_id, (a, b) in pairs.items() if a is not None and b is not None}
