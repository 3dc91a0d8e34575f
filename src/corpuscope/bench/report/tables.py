"""A report as text and as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import SetupError
from ...workspace import clean
from .collect import Report

COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("accuracy", "accuracy", "percent"), ("exact_match", "exact match", "percent"), ("f1", "F1", "percent"),
    ("nDCG@10", "nDCG@10", "number"), ("R@20", "R@20", "number"),
    ("coverage_any", "coverage any", "percent"), ("coverage_mean", "mean", "percent"), ("coverage_all", "all", "percent"),
    ("gold_R", "gold_R", "percent"), ("retained_coverage", "retained", "percent"), ("localization", "localization", "number"),
    ("citation_precision", "citation precision", "percent"), ("citation_recall", "recall", "percent"),
    ("calibration_error", "calibration error", "points"), ("tool_calls", "tool calls", "number"),
    ("seconds", "seconds", "number"), ("dollars", "$ a question", "money"), ("dollars_per_correct", "$ a right answer", "money"),
    ("input_tokens", "input tokens", "count"), ("cached_share", "cached", "percent"), ("no_answer", "no answer", "count"), ("unjudged", "unjudged", "count"),
    ("missing", "missing", "count"),
)  # fmt: skip
"""(name in a summary, heading, how it is written)."""

TAB = {
    "both": "both right", "neither": "neither right", "equal": "equal", "first": "first ahead", "second": "second ahead",
}  # fmt: skip
"""Cells of a comparison; ahead is who alone is right, or ranks better."""


def written(value: Any, how: str) -> str:
    """A figure as a reader wants it; a dash for one that does not apply."""
    if value is None:
        return "–"
    forms = {"percent": "{:.1%}", "points": "{:.1f}", "number": "{:.3g}", "money": "${:.4f}", "count": "{:,}"}
    return forms[how].format(value)


def shown_columns(report: Report) -> list[tuple[str, str, str]]:
    """Those in which any run has a value."""
    return [
        column
        for column in COLUMNS
        if column[0] in ("no_answer", "unjudged", "missing")
        or any(run.summary.get(column[0]) is not None for run in report.runs)
    ]


def markdown(report: Report) -> str:
    """Tables of the runs and of what sets them apart."""
    columns = shown_columns(report)
    lines = [f"# {_cell(report.dataset)}", "", *(f"- {_cell(problem)}" for problem in report.problems)]
    lines += ["| run | system | model | judge | questions |" + "".join(f" {heading} |" for _, heading, _ in columns)]
    lines += ["|---|---|---|---|---:|" + "---:|" * len(columns)]
    for run in report.runs:
        settings = run.settings
        first = [run.name, settings["system"]["name"], settings["model"], run.judge, f"{run.summary['questions']:,}"]
        figures = [written(run.summary.get(name), how) for name, _, how in columns]
        lines.append("| " + " | ".join(map(_cell, [*first, *figures])) + " |")
    for run, comparison in zip(report.runs[1:], report.comparisons, strict=True):
        lines += ["", f"## {_cell(run.name)} against {_cell(report.runs[0].name)}", "", *_compared(comparison)]
    return "\n".join(lines) + "\n"


def summaries(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """A table of runs that are not over the same corpus or not to be compared pair by pair: name -> summary."""
    documents = any("documents" in figures for figures in rows.values())
    columns = [c for c in COLUMNS if any(figures.get(c[0]) is not None for figures in rows.values())]
    columns = [("documents", "documents", "count"), *columns] if documents else columns
    lines = [
        "| run | questions |" + "".join(f" {heading} |" for _, heading, _ in columns),
        "|---|---:|" + "---:|" * len(columns),
    ]
    for name, figures in rows.items():
        asked = f"{figures['questions'] - figures['missing']:,}"
        cells = [name, asked, *(written(figures.get(column), how) for column, _, how in columns)]
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join(lines) + "\n"


def _compared(comparison: dict[str, Any]) -> list[str]:
    tab = ", ".join(f"{TAB[name]} {len(ids)}" for name, ids in comparison["cross_tab"].items())
    lines = [
        f"- {comparison['questions']} questions: {tab}",
        f"- {comparison['test']}: p = {comparison['p']:.3g}, corrected {comparison['p_holm']:.3g} (Holm)",
    ]
    if comparison["cannot_tell"]:
        lines.append(f"- **This sample cannot tell**: {comparison['cannot_tell']}")
    lines += ["", "| difference (second minus first) | mean | 95% interval |", "|---|---:|---:|"]
    lines += [
        f"| {name} | {i.mean:+.4g} | {i.low:+.4g} to {i.high:+.4g} |" for name, i in comparison["differences"].items()
    ]
    return lines


def _cell(text: object) -> str:
    """Untrusted words in a table: no bars, no line ends, no control characters."""
    return " ".join(clean(str(text).encode(errors="replace")).split()).replace("|", "\\|").replace("<", "&lt;")


def plain(report: Report) -> dict[str, Any]:
    """As JSON values."""
    value: dict[str, Any] = _plain(report)
    return value


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def write_parquet(report: Report, file: Path) -> None:
    """One row for each question of each run."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise SetupError("Parquet needs a package: pip install 'corpuscope[bench]'") from error
    rows = [{"run": run.name, **row} for run in report.runs for row in run.rows]
    names = dict.fromkeys(name for row in rows for name in row)
    parquet.write_table(pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows]), file)
