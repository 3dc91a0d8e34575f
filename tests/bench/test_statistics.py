"""Tests and intervals against values worked out by hand or taken from the papers that define them."""

from __future__ import annotations

from itertools import product

import pytest

from corpuscope.bench import bootstrap, holm, kappa, mcnemar
from corpuscope.bench.statistics import cannot_tell, randomization


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),  # 2 * 1/2
        (6, 0, 2 / 64),
        (5, 1, 2 * (1 + 6) / 64),
        (3, 3, 1.0),
        (10, 2, 2 * (1 + 12 + 66) / 4096),
    ],
)
def test_mcnemar_is_a_fair_coin_over_the_questions_that_differ(only_first: int, only_second: int, p: float) -> None:
    assert mcnemar(only_first, only_second) == pytest.approx(p)


@pytest.mark.parametrize("differences", [[0.5] * 6, [0.5] * 5 + [-0.5], [0.1, 0.2, 0.3], [0.0] * 9, [0.3, -0.3, 0.1]])
def test_randomization_counts_the_signs_that_are_as_far_from_nothing(differences: list[float]) -> None:
    """Against all 2^n assignments, one by one."""
    seen = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    exact = sum(value >= seen - 1e-9 for value in sums) / len(sums)
    assert randomization(differences) == pytest.approx(exact, abs=0.015)
    assert randomization(differences) == randomization(differences), "seeded"


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx(
        [0.03, 0.06, 0.06]
    )  # 3 x .01; 2 x .03; 1 x .04, not below the one before
    assert holm([0.5, 0.9]) == [1.0, 1.0] and holm([]) == [] and holm([0.2]) == [0.2]


def test_bootstrap_of_a_mean() -> None:
    assert bootstrap([]) is None
    assert bootstrap([0.5] * 9) == (0.5, 0.5, 0.5)
    coin = bootstrap([0.0, 1.0] * 50)
    assert coin is not None and coin.mean == 0.5
    # The normal approximation: 0.5 plus and minus 1.96 * sqrt(0.25 / 100).
    assert coin.low == pytest.approx(0.402, abs=0.011) and coin.high == pytest.approx(0.598, abs=0.011)
    assert bootstrap([0.0, 1.0] * 50) == coin, "the same seed, the same bounds"


def test_a_sample_that_cannot_tell_is_told() -> None:
    assert "only 5 questions" in cannot_tell(5) and "below 6" in cannot_tell(5)
    assert cannot_tell(6) == ""
    assert "below 8" in cannot_tell(7, tests=4)  # 4 * 2 / 2^7 = 0.0625


def test_kappa() -> None:
    # Cohen's own kind of table: 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: 0.7 agreement against 0.5 by chance.
    first = [True] * 25 + [False] * 25
    second = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert kappa(first, second) == pytest.approx(0.4)
    assert kappa([True, False], [True, False]) == 1.0
    assert kappa([], []) is None and kappa([True, True], [True, True]) is None
