"""The benchmark lab: datasets, runs over them, judgements, metrics, analyses, reports."""

from typing import TYPE_CHECKING

from ..lazy import lazily
from .question import Dataset, Evidence, Question

if TYPE_CHECKING:
    from .comparing import compare
    from .datasets import KNOWN, Known, check, load_dataset, nowhere
    from .evaluation import Row, add_ranking_measures, evaluate, outcomes, results_of, summary, surfacing, usage
    from .experiments import grid, scaled, variations
    from .export import export_browsecomp_plus, export_trec
    from .gold import TELLING, Gold, gold_documents, surfaced
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
    from .opening import dataset_of, only_judge
    from .report import Report, collect, html, markdown, plain, summaries, write_parquet
    from .running import Tally, open_run, run_dataset
    from .statistics import bootstrap, holm, kappa, mcnemar

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("KNOWN", "Known", "check", "load_dataset", "nowhere"), ".datasets"),
        **dict.fromkeys(("Row", "add_ranking_measures", "evaluate", "outcomes", "results_of", "summary", "surfacing", "usage"), ".evaluation"),
        "compare": ".comparing",
        **dict.fromkeys(("grid", "scaled", "variations"), ".experiments"),
        **dict.fromkeys(("export_browsecomp_plus", "export_trec"), ".export"),
        **dict.fromkeys(
            ("EXACT", "PROMPT", "Judgement", "judge_exactly", "judge_run", "judges", "prompt_from", "read_judgements", "to_judge"), ".judging",
        ),
        **dict.fromkeys(("Report", "collect", "html", "markdown", "plain", "summaries", "write_parquet"), ".report"),
        **dict.fromkeys(("dataset_of", "only_judge"), ".opening"),
        **dict.fromkeys(("TELLING", "Gold", "gold_documents", "surfaced"), ".gold"),
        **dict.fromkeys(("Tally", "open_run", "run_dataset"), ".running"),
        **dict.fromkeys(("bootstrap", "holm", "kappa", "mcnemar"), ".statistics"),
    },
)  # fmt: skip

__all__ = [
    "EXACT", "KNOWN", "PROMPT", "TELLING", "Dataset", "Evidence", "Gold", "Judgement", "Known", "Question", "Report", "Row", "Tally",
    "add_ranking_measures", "bootstrap", "check", "collect", "compare", "dataset_of", "evaluate", "export_browsecomp_plus", "export_trec", "gold_documents",
    "grid", "holm", "html", "judge_exactly", "judge_run", "judges", "kappa", "load_dataset", "markdown", "mcnemar", "nowhere",
    "only_judge", "open_run", "outcomes", "plain", "prompt_from", "read_judgements", "results_of", "run_dataset", "scaled",
    "summaries", "summary", "surfaced", "surfacing", "to_judge", "usage", "variations", "write_parquet",
]  # fmt: skip
