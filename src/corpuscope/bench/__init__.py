"""The benchmark lab: datasets, runs over them, judgements, metrics, analyses, reports."""

from typing import TYPE_CHECKING

from ..lazy import lazily
from .question import Dataset, Evidence, Question

if TYPE_CHECKING:
    from .datasets import KNOWN, Known, check, load_dataset, nowhere
    from .evaluation import evaluate, results_of, summary
    from .experiments import grid, scaled, variations
    from .export import export_browsecomp_plus, export_trec
    from .judging import (
        EXACT,
        PROMPT,
        Judgement,
        judge_exactly,
        judge_run,
        judges,
        prompt_from,
        read_judgements,
        to_judge,
    )
    from .report import Report, collect, html, markdown, plain, summaries, write_parquet
    from .running import Tally, open_run, run_dataset
    from .statistics import bootstrap, holm, kappa, mcnemar

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("KNOWN", "Known", "check", "load_dataset", "nowhere"), ".datasets"),
        **dict.fromkeys(("evaluate", "results_of", "summary"), ".evaluation"),
        **dict.fromkeys(("grid", "scaled", "variations"), ".experiments"),
        **dict.fromkeys(("export_browsecomp_plus", "export_trec"), ".export"),
        **dict.fromkeys(
            ("EXACT", "PROMPT", "Judgement", "judge_exactly", "judge_run", "judges", "prompt_from", "read_judgements", "to_judge"), ".judging",
        ),
        **dict.fromkeys(("Report", "collect", "html", "markdown", "plain", "summaries", "write_parquet"), ".report"),
        **dict.fromkeys(("Tally", "open_run", "run_dataset"), ".running"),
        **dict.fromkeys(("bootstrap", "holm", "kappa", "mcnemar"), ".statistics"),
    },
)  # fmt: skip

__all__ = [
    "EXACT", "KNOWN", "PROMPT", "Dataset", "Evidence", "Judgement", "Known", "Question", "Report", "Tally",
    "bootstrap", "check", "collect", "evaluate", "export_browsecomp_plus", "export_trec", "grid", "holm", "html",
    "judge_exactly", "judge_run", "judges", "kappa", "load_dataset", "markdown", "mcnemar", "nowhere", "open_run", "plain",
    "prompt_from", "read_judgements", "results_of", "run_dataset", "scaled", "summaries", "summary", "to_judge", "variations",
    "write_parquet",
]  # fmt: skip
