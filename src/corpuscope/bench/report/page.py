"""A report as one HTML file: no script, nothing fetched, and whatever a model wrote escaped by the template engine."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from ...errors import SetupError
from ...workspace import clean
from .collect import Report
from .tables import shown_columns, written


def html(report: Report) -> str:
    """The page. Raises `SetupError` without jinja2."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise SetupError("an HTML report needs a package: pip install 'corpuscope[bench]'") from error
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["written"] = written
    environment.filters["clean"] = lambda text: clean(str(text).encode(errors="replace"))
    environment.filters["bar"] = _bar
    environment.filters["line"] = _line
    source = (resources.files(__package__) / "page.html").read_text()
    return environment.from_string(source).render(report=report, columns=shown_columns(report), zip=zip)


def _bar(share: float | None) -> float:
    """A share of 1 as the width of a bar of 100."""
    return round(100 * min(1.0, max(0.0, share or 0.0)), 1)


def _line(values: Sequence[float], top: float) -> str:
    """Values from 0 to `top` as the points of a line in a box of 100 by 40."""
    step = 100 / max(1, len(values) - 1)
    return " ".join(f"{place * step:.1f},{40 - 38 * value / (top or 1):.1f}" for place, value in enumerate(values))
