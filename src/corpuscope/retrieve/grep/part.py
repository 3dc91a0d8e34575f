"""A part of the index: the signatures of up to 4,096 units of text, a bit of all of them side by side.

A unit is some 20 KB of text: several short documents, one, or a piece of a long one. Laid out by bit, a question for a
few bits reads a few rows and never the signatures of all units.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .grams import BITS, fold_bytes, rows

if TYPE_CHECKING:
    import numpy as np

UNITS = 4096
"""Units of a full part, whose text is some 80 MB."""

UNIT_BYTES = 20_000
"""Text of a unit. A signature takes 2,048 bytes, so the index takes about a tenth of the text."""

OVERLAP = 256
"""Bytes that pieces of a long document share, so that a literal of 64 folded bytes stands whole in one of them: a character
of three bytes may fold into one (the Kelvin sign)."""


@dataclass(frozen=True, slots=True)
class Part:
    """One in a file: uint8[BITS, width] as it is, eight units to a byte; beside it what each unit holds.

    Unit `u` holds the documents `keys[starts[u]:starts[u + 1]]`. `spans` int[n, 2] are the first and last units of the
    documents in several pieces, which have them for themselves.
    """

    file: Path
    width: int
    starts: np.ndarray
    keys: np.ndarray
    spans: np.ndarray

    @classmethod
    def load(cls, file: Path) -> Part:
        """The bits stay on disk. Raises `OSError` or `ValueError` for a file that is not whole."""
        import numpy as np

        size = file.stat().st_size
        if not size or size % BITS:
            raise ValueError(f"{file.name} is cut off")
        with _beside(file).open("rb") as rest:
            return cls(file, size // BITS, np.load(rest), np.load(rest), np.load(rest))

    @classmethod
    def save(cls, file: Path, bits: np.ndarray, starts: np.ndarray, keys: np.ndarray, spans: np.ndarray) -> Part:
        """Written under the name it keeps: nobody reads a part before the index names it."""
        import numpy as np

        with file.open("wb") as out:
            bits.tofile(out)
            os.fsync(out.fileno())
        with _beside(file).open("wb") as out:
            for array in (starts, keys, spans):
                np.save(out, array)
            os.fsync(out.fileno())
        return cls(file, bits.shape[1], starts, keys, spans)

    @property
    def units(self) -> int:
        return 8 * self.width

    def holding(self, wanted: np.ndarray) -> np.ndarray:
        """bool[units]: those that may hold a literal that sets these bits, and all pieces of a document where one may."""
        import numpy as np

        # Read, not mapped: a mapping counts as this process's memory, and a file cut short under it would kill it.
        with open(self.file, "rb", buffering=0) as opened:
            read = b"".join(os.pread(opened.fileno(), self.width, int(row) * self.width) for row in wanted)
        found = np.unpackbits(np.bitwise_and.reduce(np.frombuffer(read, np.uint8).reshape(-1, self.width))).view(bool)
        if len(self.spans):
            before = np.concatenate(([0], np.cumsum(found)))
            first, last = self.spans[:, 0], self.spans[:, 1]
            for start, stop in self.spans[before[last + 1] > before[first]]:
                found[start : stop + 1] = True
        return found

    def documents(self, units: np.ndarray) -> np.ndarray:
        """Keys of the documents in the units of bool[units]; some more than once."""
        import numpy as np

        chosen = np.flatnonzero(units[: len(self.starts) - 1])
        slices = [self.keys[self.starts[unit] : self.starts[unit + 1]] for unit in chosen]
        return np.concatenate(slices) if slices else self.keys[:0]


def joined(parts: Sequence[Part], file: Path) -> Part:
    """Small parts as one in `file`; nothing is read of their documents."""
    import numpy as np

    starts, spans, units, keys = [], [], 0, 0
    for part in parts:
        starts.append(part.starts[:-1] + keys)
        starts.append(np.full(part.units - len(part.starts) + 1, keys + part.starts[-1]))  # what fills its last byte
        spans.append(part.spans + units)
        units, keys = units + part.units, keys + len(part.keys)
    starts.append(np.array([keys]))
    bits = [np.fromfile(part.file, np.uint8).reshape(BITS, -1) for part in parts]
    every = np.concatenate([part.keys for part in parts])
    return Part.save(file, np.hstack(bits), np.concatenate(starts), every, np.concatenate(spans))


class PartBuilder:
    """Takes documents until it is full."""

    def __init__(self) -> None:
        import numpy as np

        self.bits = np.zeros((BITS, UNITS // 8), dtype=np.uint8)
        self.eight = np.zeros((8, BITS), dtype=bool)
        self.short = np.zeros(BITS, dtype=bool)
        self.short_keys: list[int] = []
        self.short_bytes = 0
        self.units: list[list[int]] = []
        self.spans: list[tuple[int, int]] = []

    def has_room(self, size: int) -> bool:
        """Whether a document of so many bytes goes in; into an empty one any does."""
        return len(self.units) + pieces(size) + 1 <= UNITS or self.empty

    @property
    def empty(self) -> bool:
        return not (self.units or self.short_keys)

    def add(self, key: int, data: bytes) -> None:
        """`data` is the document's UTF-8."""
        count = pieces(len(data))
        if count == 1:
            self._add_short(key, fold_bytes(data))
            return
        size = -(-len(data) // count)
        first = len(self.units)
        for start in range(0, len(data), size):
            self._slot()[rows(fold_bytes(data[start : start + size + OVERLAP]))] = True
            self._close_unit([key])
        self.spans.append((first, len(self.units) - 1))

    def save(self, file: Path) -> Part:
        import numpy as np

        self._close_short()
        used = -(-len(self.units) // 8)
        if len(self.units) % 8:
            self.bits[:, used - 1] = np.packbits(self.eight, axis=0)[0]
        sizes = [len(unit) for unit in self.units]
        return Part.save(
            file,
            self.bits[:, :used],
            np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
            np.array([key for unit in self.units for key in unit], dtype=np.int64),
            np.array(self.spans, dtype=np.int64).reshape(-1, 2),
        )

    def _add_short(self, key: int, folded: bytes) -> None:
        if self.short_bytes + len(folded) > UNIT_BYTES * 5 // 4:
            self._close_short()
        self.short[rows(folded)] = True
        self.short_keys.append(key)
        self.short_bytes += len(folded)

    def _close_short(self) -> None:
        if self.short_keys:
            self._slot()[:] = self.short
            self._close_unit(self.short_keys)
        self.short[:] = False
        self.short_keys, self.short_bytes = [], 0

    def _slot(self) -> np.ndarray:
        """The signature of the next unit."""
        slot: np.ndarray = self.eight[len(self.units) % 8]
        return slot

    def _close_unit(self, keys: list[int]) -> None:
        import numpy as np

        self.units.append(keys)
        if len(self.units) % 8 == 0:
            column = len(self.units) // 8 - 1
            if column >= self.bits.shape[1]:  # one document larger than a whole part
                self.bits = np.hstack([self.bits, np.zeros_like(self.bits)])
            self.bits[:, column] = np.packbits(self.eight, axis=0)[0]
            self.eight[:] = False


def pieces(size: int) -> int:
    """Units that a document of so many bytes takes."""
    return max(1, round(size / UNIT_BYTES))


def _beside(file: Path) -> Path:
    return file.with_suffix(".units")
