"""Citation precision and recall (BrowseComp-Plus, evaluate_run.py): cited documents against those that are relevant."""

from __future__ import annotations

from collections.abc import Collection


def citation_scores(cited: Collection[str], relevant: Collection[str]) -> dict[str, float]:
    """precision = |C & R| / |C|, recall = |C & R| / |R|; both 0 when nothing is cited, empty when nothing is relevant."""
    wanted, given = set(relevant), set(cited)
    if not wanted:
        return {}
    both = len(wanted & given)
    return {"citation_precision": both / len(given) if given else 0.0, "citation_recall": both / len(wanted)}
