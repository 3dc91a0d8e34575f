"""Calibration error as BrowseComp-Plus computes it (evaluate_run.py, after Hendrycks et al., 2019).

Answers are sorted by confidence and cut into bins of `beta`; the last bin takes the rest. The error is the root of the mean,
weighted by bin size, of the squared difference between mean confidence and accuracy. Two things of that code are kept, for the
figures to compare: fewer answers than one bin give no value (it fails on them), and its sum leaves the last bin out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

BETA = 100


def calibration_error(
    confidences: Sequence[float], correct: Sequence[bool], *, beta: int = BETA, whole: bool = False
) -> float | None:
    """In percent; `confidences` are too. None for fewer than `beta` answers. `whole` counts the last bin as well, which is the
    measure that the authors cite."""
    if len(confidences) < beta:
        return None
    pairs = sorted(zip(confidences, correct, strict=True), key=lambda pair: pair[0])
    starts = [i * beta for i in range(len(pairs) // beta)]
    bins = [pairs[start : start + beta] for start in starts[:-1]] + [pairs[starts[-1] :]]
    error = 0.0
    for held in bins if whole else bins[:-1]:
        difference = sum(c for c, _ in held) / len(held) / 100 - sum(right for _, right in held) / len(held)
        error += len(held) / len(pairs) * difference**2
    return 100 * math.sqrt(error)
