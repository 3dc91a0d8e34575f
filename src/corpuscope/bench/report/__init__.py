"""What one publishes of runs: Markdown, JSON, Parquet, and one HTML file that needs nothing else."""

from .collect import Report, collect
from .page import html
from .tables import markdown, plain, summaries, write_parquet

__all__ = ["Report", "collect", "html", "markdown", "plain", "summaries", "write_parquet"]
