"""What of a text goes into its signature: every run of three and of four bytes, letter case folded away.

A signature is a row of bits. Each run of bytes sets one; a pattern whose literal has a run whose bit is not set cannot
match. Two runs may share a bit, so a signature that has all of them only says that the text may match.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

_LOG_BITS = 14
BITS = 1 << _LOG_BITS
"""Of one signature."""

SHORTEST = 3
"""Bytes of the shortest literal that narrows anything."""

_MULTIPLIERS = 0x85EBCA6B, 0xC2B2AE35
"""Of MurmurHash3's finalizer."""

_THREE = 0xA5000000
"""Sets runs of three apart from those of four: no text has this byte behind three others."""


def fold(text: str) -> bytes:
    """One form for all letters that any case-insensitive match takes for the same.

    Full case folding maps each character for itself, and joins at least what ripgrep's simple folding joins (the Kelvin
    sign and k, the long s and s). GNU grep takes the dotless i for an i, too.
    """
    return text.casefold().replace("ı", "i").encode()


def fold_bytes(data: bytes) -> bytes:
    """`fold` of UTF-8, without the characters that are cut off at its ends."""
    return data.lower() if data.isascii() else fold(data.decode(errors="ignore"))


def rows(folded: bytes) -> np.ndarray:
    """Numbers of the bits that `folded` sets, some of them more than once: int array, empty below three bytes."""
    import numpy as np

    if len(folded) < SHORTEST:
        return np.zeros(0, dtype=np.uint32)
    windows: np.ndarray = np.ndarray((len(folded),), "<u4", folded + bytes(3), 0, (1,))
    three = windows[:-2] & np.uint32(0xFFFFFF)
    three += np.uint32(_THREE)
    both = np.concatenate((three, windows[:-3]))
    # Text is far from random: multiplied only once, similar runs would land on the same few bits.
    both *= np.uint32(_MULTIPLIERS[0])
    both ^= both >> np.uint32(15)
    both *= np.uint32(_MULTIPLIERS[1])
    return (both >> np.uint32(32 - _LOG_BITS)).astype(np.intp)
