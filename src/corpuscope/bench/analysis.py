"""What a run did, beyond how it scored: its tools, its commands, when gold was first seen, and where two systems part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..agent import Event

Row = Mapping[str, Any]

_SEARCH = re.compile(r"^(?:LC_ALL=\S+\s+)?(?:rg|grep|egrep|fgrep|ag|ack)\b")
_COUNT = re.compile(r"^(?:wc|uniq)\b|^(?:rg|grep)\b.*\s(?:-\w*c\w*|--count(?:-matches)?)(?:\s|$)")
_REGEX = re.compile(r"""['"][^'"]*(?:\||\.[*+?]|\[|\\[bdswBDSW]|\^|\$)[^'"]*['"]""")
_LIMIT = re.compile(r"^(?:head|tail|sed\s+-n)\b|\s(?:-m\s*\d+|--max-count)")
_LOCATE = re.compile(r"^(?:find|fd|locate)\b|^rg\b.*\s--files(?:\s|$)|^ls\b.*")

PHASES = (
    "corpus exploration", "broad keyword search", "iterative narrowing", "targeted reading", "in-document search",
    "cross-document comparison",
)  # fmt: skip
"""The six patterns of work that DCI finds to follow one another (DCI, section 5.3)."""


TABLES = {
    "lite": (
        "python scripting", "aggregation and counting", "locate file", "list directory", "chain search", "search and limit",
        "single keyword search", "full document read", "document peek",
    ),
    "cc": (
        "python scripting", "aggregation and counting", "locate file", "list directory", "chain search", "regex search",
        "single keyword search", "full document read", "document peek",
    ),
}  # fmt: skip
"""The categories that DCI gives for its two agents (DCI, section 5.2 and 4.2), each in the order in which they are tried."""


def intent(command: str, table: str = "lite") -> str:
    """The category of a bash command in one of DCI's two tables; "other" for what is in none."""
    stages = [stage.strip() for stage in re.split(r"(?<!\|)\|(?!\|)|&&|;|\n", _quoted_bars(command)) if stage.strip()]
    if not stages:
        return "other"
    searches = [stage for stage in stages if _SEARCH.search(stage)]
    holds = {
        "python scripting": bool(re.search(r"^(?:python3?|perl|node)\b", stages[0])),
        "aggregation and counting": any(_COUNT.search(stage) for stage in stages),
        "locate file": bool(_LOCATE.search(stages[0])) and (len(stages) > 1 or not stages[0].startswith("ls")),
        "list directory": bool(re.search(r"^(?:ls|tree|pwd)\b", stages[0])),
        "chain search": len(searches) > 1 or (bool(searches) and "xargs" in command),
        "search and limit": bool(searches) and any(_LIMIT.search(stage) for stage in stages),
        "regex search": bool(searches) and bool(_REGEX.search(command)),
        "single keyword search": bool(searches),
        "full document read": bool(re.search(r"^cat\s+\S", stages[0])) and len(stages) == 1,
        "document peek": bool(re.search(r"^(?:sed\s+-n|head|tail|awk|cut|nl|cat)\b", stages[0])),
    }
    return next((name for name in TABLES[table] if holds[name]), "other")


def _quoted_bars(command: str) -> str:
    """The command with the bars inside quotes made harmless: they are alternatives of a pattern, not pipes."""
    return re.sub(r"'[^']*'|\"[^\"]*\"", lambda match: match[0].replace("|", "¦").replace(";", ","), command)


def phase(event: Event) -> str:
    """The pattern of work that one call belongs to."""
    command = str(event["data"].get("command", ""))
    if event["name"] in ("search", "read_search_results"):
        return "broad keyword search"
    if event["name"] in ("read", "get_document", "read_document", "access"):
        return "targeted reading"
    kind = intent(command)
    files = len(set(re.findall(r"[\w./-]+/[\w.-]+\.\w+|\b[\w-]+\.(?:txt|md|rst|html|json)\b", command)))
    if kind in ("list directory", "locate file"):
        return "corpus exploration"
    if kind in ("full document read", "document peek"):
        return "targeted reading"
    if files > 1:
        return "cross-document comparison"
    if files == 1:
        return "in-document search"
    return "iterative narrowing" if kind == "chain search" else "broad keyword search"


def calls(events: Iterable[Event]) -> list[Event]:
    return [event for event in events if event["type"] == "tool"]


def tools_used(trajectories: Iterable[Iterable[Event]]) -> Counter[str]:
    """Tool -> calls."""
    return Counter(event["name"] for events in trajectories for event in calls(events))


def intents(trajectories: Iterable[Iterable[Event]], table: str = "lite") -> Counter[str]:
    """Category of bash commands -> how many."""
    return Counter(
        intent(str(event["data"]["command"]), table)
        for events in trajectories
        for event in calls(events)
        if event["name"] == "bash" and event["data"].get("command")
    )


def phases(trajectories: Iterable[Sequence[Event]], parts: int = 4) -> dict[str, list[float]]:
    """Phase -> its share of the calls in each of `parts` equal stretches of a trajectory, over all trajectories."""
    totals = [0] * parts
    counts = {name: [0] * parts for name in PHASES}
    for events in trajectories:
        made = calls(events)
        for place, event in enumerate(made):
            part = place * parts // len(made)
            counts[phase(event)][part] += 1
            totals[part] += 1
    return {
        name: [n / total if total else 0.0 for n, total in zip(row, totals, strict=True)]
        for name, row in counts.items()
    }


def cross_tab(first: Sequence[Row], second: Sequence[Row]) -> dict[str, list[str]]:
    """Which of two systems has a question right: `both`, `first`, `second`, `neither` -> query_ids, of those judged for both."""
    other = {row["query_id"]: row["correct"] for row in second}
    found: dict[str, list[str]] = {"both": [], "first": [], "second": [], "neither": []}
    for row in first:
        a, b = row["correct"], other.get(row["query_id"])
        if a is not None and b is not None:
            name = "both" if a and b else "first" if a else "second" if b else "neither"
            found[name].append(row["query_id"])
    return found


BUCKETS = ((0.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 1.0))
"""Shares of the gold documents that surfaced: none, up to half, more, all."""


def accuracy_by_coverage(rows: Sequence[Row]) -> list[tuple[str, int, float | None]]:
    """(bucket, questions in it, accuracy): what a system makes of what it has found."""
    found = []
    for low, high in BUCKETS:
        inside = [
            bool(row["correct"])
            for row in rows
            if row["correct"] is not None and (c := row.get("coverage_mean")) is not None
            and (c == low if low == high else low < c <= high and (c < 1.0 or high < 1.0))
        ]  # fmt: skip
        label = f"{low:.0%}" if low == high else f"{low:.0%} to {high:.0%}"
        found.append((label, len(inside), sum(inside) / len(inside) if inside else None))
    return found


def first_seen(trajectories: Mapping[str, Sequence[Event]], rows: Sequence[Row]) -> Counter[str]:
    """Tool -> questions whose first gold document it brought to the surface; `never` counts those without."""
    counts: Counter[str] = Counter()
    for row in rows:
        call = row.get("first_gold_call")
        if call is not None:
            counts[calls(trajectories[row["query_id"]])[call - 1]["name"]] += 1
        elif row.get("coverage_mean") is not None:
            counts["never"] += 1
    return counts
