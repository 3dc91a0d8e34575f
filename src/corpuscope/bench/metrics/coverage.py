"""Coverage (DCI, section 3.4): M is the part of the gold documents D* that the trajectory brought to the surface."""

from __future__ import annotations

from collections.abc import Collection


def coverage(surfaced: Collection[str], gold: Collection[str]) -> dict[str, float]:
    """any = 1[|M| >= 1], mean = |M| / |D*|, all = 1[|M| = |D*|]; empty for a question without gold documents."""
    wanted = set(gold)
    if not wanted:
        return {}
    found = len(wanted & set(surfaced))
    return {
        "coverage_any": float(found >= 1),
        "coverage_mean": found / len(wanted),
        "coverage_all": float(found == len(wanted)),
    }
