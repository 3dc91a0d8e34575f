"""What a run did: commands by their intent, phases, and where two systems part."""

from __future__ import annotations

from typing import Any

import pytest

from corpuscope.bench.analysis import (
    accuracy_by_coverage,
    cross_tab,
    first_seen,
    intent,
    intents,
    phases,
    tools_used,
)
from corpuscope.bench.gold import candidates
from corpuscope.bench.turns import Turn, by_turn


@pytest.mark.parametrize(
    ("command", "lite", "cc"),
    [
        ("rg -n Spider-Man | head -30", "search and limit", "single keyword search"),
        ("rg -i 'k1' | rg 'k2'", "chain search", "chain search"),
        ("rg -l A | xargs rg -l B", "chain search", "chain search"),
        ("grep -rn foo .", "single keyword search", "single keyword search"),
        ("rg 'foo|bar' docs", "single keyword search", "regex search"),
        ("rg -n \"a.*b\" | head", "search and limit", "regex search"),
        ("rg foo | wc -l", "aggregation and counting", "aggregation and counting"),
        ("rg -c foo", "aggregation and counting", "aggregation and counting"),
        ("ls", "list directory", "list directory"),
        ("ls -la docs", "list directory", "list directory"),
        ("ls | grep report", "locate file", "locate file"),
        ("find . -name '*.md'", "locate file", "locate file"),
        ("rg --files | rg sess", "locate file", "locate file"),
        ("cat a.md", "full document read", "full document read"),
        ("sed -n '10,40p' a.md", "document peek", "document peek"),
        ("head -50 a.md", "document peek", "document peek"),
        ("python3 -c 'print(1)'", "python scripting", "python scripting"),
        ("echo x", "other", "other"),
        ("", "other", "other"),
    ],
)  # fmt: skip
def test_intents_are_those_of_the_tables(command: str, lite: str, cc: str) -> None:
    assert (intent(command), intent(command, "cc")) == (lite, cc)


def tool(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "tool", "name": name, "data": data, "text": "", "error": False}


TRAJECTORY = [
    {"type": "start"},
    tool("search", queries=[], workspace=10),
    tool("bash", command="ls"),
    tool("bash", command="rg foo | rg bar"),
    tool("bash", command="rg foo a.md b.md"),
    tool("read", workspace=12),
    tool("bash", command="rg foo docs/a.md"),
    tool("bash", command="rg -n foo"),
    tool("bash", command="cat docs/a.md"),
]


def test_counts_and_phases() -> None:
    assert tools_used([TRAJECTORY]) == {"search": 1, "bash": 6, "read": 1}
    assert sum(intents([TRAJECTORY]).values()) == 6
    shares = phases([TRAJECTORY], parts=2)
    assert shares["broad keyword search"] == [0.25, 0.25] and shares["corpus exploration"] == [0.25, 0.0]
    assert shares["iterative narrowing"] == [0.25, 0.0] and shares["cross-document comparison"] == [0.25, 0.0]
    assert shares["targeted reading"] == [0.0, 0.5] and shares["in-document search"] == [0.0, 0.25]


def row(query_id: str, correct: bool | None, coverage: float | None = None, call: int | None = None) -> dict[str, Any]:
    return {"query_id": query_id, "correct": correct, "coverage_mean": coverage, "first_gold_call": call}


def test_where_two_systems_part() -> None:
    first = [row("a", True), row("b", True), row("c", False), row("d", False), row("e", None), row("f", True)]
    second = [row("a", True), row("b", False), row("c", True), row("d", False), row("e", True)]
    assert cross_tab(first, second) == {"both": ["a"], "first": ["b"], "second": ["c"], "neither": ["d"]}


def test_accuracy_by_what_surfaced() -> None:
    rows = [row("a", False, 0.0), row("b", True, 0.5), row("c", False, 0.25), row("d", True, 0.75), row("e", True, 1.0),
            row("f", False, 1.0), row("g", None, 1.0), row("h", True, None)]  # fmt: skip
    assert accuracy_by_coverage(rows) == [
        ("0%", 1, 0.0),
        ("0% to 50%", 2, 0.5),
        ("50% to 100%", 1, 1.0),
        ("100%", 2, 0.5),
    ]


def test_which_tool_showed_it_first() -> None:
    rows = [row("a", True, 1.0, 1), row("b", True, 0.5, 5), row("c", False, 0.0), row("d", False)]
    assert first_seen({"a": TRAJECTORY, "b": TRAJECTORY}, rows) == {"search": 1, "read": 1, "never": 1}


def reply(input_tokens: int, cached_tokens: int, seconds: float) -> dict[str, Any]:
    """As recorded: what was spent up to here."""
    spent = {"input_tokens": input_tokens, "cached_tokens": cached_tokens, "seconds": seconds}
    return {"type": "response", "spent": spent}


def test_requests_and_workspaces_turn_by_turn() -> None:
    """Worked out by hand. The second question's second request sends 900 tokens of which the cache has none (case J3)."""
    first = [
        reply(100, 0, 1.0),
        tool("search", queries=[], workspace=10),
        reply(300, 100, 4.0),
        tool("read", workspace=10),
    ]
    second = [reply(200, 0, 2.0), tool("search", queries=[], workspace=30), reply(1100, 0, 3.0), reply(1200, 90, 3.5)]
    assert by_turn([first, second, []]) == [
        Turn(1, 2, 150, 0, 1.5, None), Turn(2, 2, 550, 50, 2.0, 20), Turn(3, 1, 100, 90, 0.5, 30),
    ]  # fmt: skip
    assert by_turn([]) == []


def test_candidates_are_what_was_ranked() -> None:
    """Imported, or shown from a ranking that imports nothing; not what grep came upon."""
    imported = tool("search", queries=[{"top": ["a"]}], imported=["a", "b"])
    again = tool("search", queries=[{"top": ["a"]}, {"top": ["c"]}], imported=["c"])
    assert candidates([imported, tool("bash", command="rg d"), again]) == {"a", "b", "c"}
    assert candidates([tool("bash", command="rg d")]) is None
