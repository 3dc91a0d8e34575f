"""A collection of any size from real text: slices of real files, drawn by a seed, so that two machines grow the same."""

from __future__ import annotations

import json
import random
from bisect import bisect
from itertools import accumulate
from pathlib import Path

SEED = 11
MU, SIGMA, LONGEST = 8.1, 0.8, 40_000
"""Of the log-normal law that lengths in bytes follow: 3.3 KB in the middle, 4.5 KB on average, as web pages and reports have them."""


def grown(source: Path, count: int, file: Path) -> Path:
    """Write `count` documents cut out of the text files below `source` as rows of JSON, unless they are there; the first ones of a larger
    collection are those of a smaller one."""
    if file.exists():
        return file
    chance = random.Random(SEED)
    files = sorted(
        path for path in source.rglob("*") if path.is_file() and not path.is_symlink() and path.stat().st_size > 500
    )
    ends = list(accumulate(path.stat().st_size for path in files))
    unfinished = file.with_suffix(".new")
    with unfinished.open("w") as out:
        for number in range(count):
            at = chance.randrange(ends[-1])
            which = bisect(ends, at)
            size = min(LONGEST, int(chance.lognormvariate(MU, SIGMA)))
            with files[which].open("rb") as opened:
                opened.seek(max(0, at - (ends[which - 1] if which else 0)))
                text = opened.read(size).replace(b"\0", b" ").decode(errors="ignore")
            title = str(files[which].relative_to(source))
            out.write(json.dumps({"docid": f"d{number}", "title": title, "text": text if text.strip() else "."}) + "\n")
    unfinished.rename(file)
    return file
