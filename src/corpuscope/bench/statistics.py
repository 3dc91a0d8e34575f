"""Whether a difference between two systems is more than chance: paired tests over the same questions."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

RESAMPLES = 10_000
LEVEL = 0.05


class Interval(NamedTuple):
    """A mean and the bounds that 95% of resamples lie between."""

    mean: float
    low: float
    high: float


def bootstrap(values: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> Interval | None:
    """The percentile bootstrap of a mean (Efron, 1979). For paired systems, `values` are their differences question by
    question. None without values; the same seed gives the same bounds."""
    if not values:
        return None
    chance = random.Random(seed)
    n = len(values)
    means = sorted(math.fsum(chance.choices(values, k=n)) / n for _ in range(resamples))
    low, high = means[int(resamples * LEVEL / 2)], means[math.ceil(resamples * (1 - LEVEL / 2)) - 1]
    return Interval(math.fsum(values) / n, low, high)


def mcnemar(first: int, second: int) -> float:
    """Two-sided p of McNemar's exact test, from the questions that one system alone has right: were both as good, each of these
    would be a fair coin."""
    n = first + second
    tail: float = sum(math.comb(n, i) for i in range(min(first, second) + 1)) / 2**n
    return min(1.0, 2 * tail)


def randomization(differences: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> float:
    """Two-sided p of Fisher's paired randomization test of a mean difference, as is usual for rankings (Smucker et al., 2007):
    were both as good, each difference might as well have the other sign. From seeded resamples, so never exactly 0."""
    chance = random.Random(seed)
    seen = abs(math.fsum(differences)) - 1e-12
    extreme = sum(
        abs(math.fsum(d if chance.random() < 0.5 else -d for d in differences)) >= seen for _ in range(resamples)
    )
    return (extreme + 1) / (resamples + 1)


def holm(ps: Sequence[float]) -> list[float]:
    """p-values corrected for being several (Holm, 1979): the i-th smallest of m is multiplied by m - i + 1, and none may be
    smaller than one before it."""
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[i]))
        corrected[i] = largest
    return corrected


def cannot_tell(differing: int, tests: int = 1) -> str:
    """Why no difference could have shown, '' where one could; `differing` questions came out otherwise.

    n questions that differ give at least p = 2 / 2^n, all of them in favour of one system, times the number of `tests`.
    """
    needed = next(n for n in range(1, 200) if tests * 2 / 2**n <= LEVEL)
    if differing >= needed:
        return ""
    return (
        f"only {differing} questions set them apart; below {needed} no outcome could be significant: ask more questions"
    )


def kappa(first: Sequence[bool], second: Sequence[bool]) -> float | None:
    """Cohen's kappa of two judges: agreement beyond what their rates of yes would give by chance. None without judgements, or
    where both always say the same one thing."""
    n = len(first)
    if not n:
        return None
    agree = sum(a == b for a, b in zip(first, second, strict=True)) / n
    yes_first, yes_second = sum(first) / n, sum(second) / n
    chance = yes_first * yes_second + (1 - yes_first) * (1 - yes_second)
    return None if chance == 1 else (agree - chance) / (1 - chance)
