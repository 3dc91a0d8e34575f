"""`corpuscope bench judge`, `report`, `compare` and `export`: what one makes of runs."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from ..agent import Result, open_model
from ..api import Corpus
from ..bench import (
    EXACT,
    PROMPT,
    Dataset,
    Judgement,
    collect,
    dataset_of,
    export_browsecomp_plus,
    export_trec,
    html,
    judge_exactly,
    judge_run,
    judges,
    kappa,
    markdown,
    only_judge,
    plain,
    prompt_from,
    read_judgements,
    results_of,
    to_judge,
    write_parquet,
)  # fmt: skip
from ..corpus import write_whole
from ..errors import CorpuscopeError, Interrupted, SetupError, UsageError
from ..systems import Run
from ..workspace import clean


def _opened(folder: Path, canary: str) -> tuple[Run, Dataset]:
    """A run of a benchmark with its questions."""
    run = Run.open(folder)
    return run, dataset_of(run, canary)


def judge_command(
    folder: Path, *, model: str, base_url: str, prompt: Path | None, workers: int, max_cost: float | None, canary: str,
    as_json: bool,
) -> None:  # fmt: skip
    run, dataset = _opened(folder, canary)
    results = results_of(run, dataset)
    text = prompt_from(prompt) if prompt else PROMPT

    def told(judgement: Judgement, done: int, total: int) -> None:
        if not as_json:
            verdict = {True: "right", False: "wrong", None: f"unjudged: {judgement.unjudged}"}[judgement.correct]
            id = clean(judgement.query_id.encode(errors="replace"))
            print(f"{done}/{total}  {id}  {clean(verdict.encode(errors='replace'))}", file=sys.stderr)

    work = judge_run(
        dataset,
        run,
        results,
        open_model(model, base_url),
        prompt=text,
        workers=workers,
        max_cost=max_cost,
        on_judgement=told,
    )
    try:
        judged = asyncio.run(work)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted; the judgements so far are kept in {folder}, the same command goes on"
        ) from None
    agreement = _agreement(run, dataset, results, judged)
    left = len(to_judge(dataset, results)) - len(judged)
    counts = {
        "judge": next(iter(judged.values())).judge if judged else model,
        "right": sum(j.correct is True for j in judged.values()),
        "wrong": sum(j.correct is False for j in judged.values()),
        "unjudged": sum(j.correct is None for j in judged.values()),
        "left": left,
        "agreement": agreement,
    }
    if as_json:
        print(json.dumps(counts))
    else:
        print(f"{counts['right']} right, {counts['wrong']} wrong, {counts['unjudged']} unjudged by {counts['judge']}")
        for other, value in agreement.items():
            print(f"agreement with {other}: Cohen's kappa {'undefined' if value is None else f'{value:.2f}'}")
    if left:
        raise CorpuscopeError(f"the money is used up with {left} answers left: raise --max-cost, run it again")
    if counts["unjudged"]:
        raise CorpuscopeError(f"{counts['unjudged']} answers stay unjudged: run it again, or choose another judge")


def _agreement(
    run: Run, dataset: Dataset, results: dict[str, Result], judged: dict[str, Judgement]
) -> dict[str, float | None]:
    """Cohen's kappa with every other judge of this run, over what both have judged."""
    name = next(iter(judged.values())).judge if judged else ""
    others = {other: read_judgements(run, other) for other in judges(run) if other != name}
    others[EXACT] = judge_exactly(dataset, results)
    found = {}
    for other, theirs in others.items():
        pairs = [
            (mine.correct, theirs[id].correct)
            for id, mine in judged.items()
            if id in theirs and mine.correct is not None and theirs[id].correct is not None
        ]
        found[other] = kappa([bool(a) for a, _ in pairs], [bool(b) for _, b in pairs])
    return found


def report_command(
    folders: Sequence[Path],
    *,
    judge: str,
    canary: str,
    page: Path | None,
    parquet: Path | None,
    as_markdown: bool,
    as_json: bool,
) -> None:
    opened = [_opened(folder, canary) for folder in folders]
    first = opened[0][0].settings
    for run, _ in opened[1:]:
        if (run.settings.dataset_digest, run.settings.corpus_digest) != (first.dataset_digest, first.corpus_digest):
            raise UsageError(
                f"{run.folder} asks other questions or another corpus than {folders[0]}: runs must share both"
            )
    with ExitStack() as stack:
        corpus = stack.enter_context(Corpus.open(Path(first.corpus)))
        if corpus.manifest.digest() != first.corpus_digest:
            raise UsageError(
                f"{corpus.root} has changed since these runs: their documents are no longer what was searched"
            )
        report = collect([run for run, _ in opened], opened[0][1], corpus, judge or only_judge(opened[0][0]))
        if as_json:
            print(json.dumps(plain(report), ensure_ascii=False))
        if parquet:
            write_parquet(report, parquet)
        if as_markdown or not (as_json or page or parquet):
            print(markdown(report), end="")
        if page or not (as_json or as_markdown or parquet):
            file = page or folders[0] / "report.html"
            _write(file, html(report))
            print(f"{file}", file=sys.stderr)


def export_command(folder: Path, *, browsecomp_plus: Path | None, trec: Path | None, canary: str) -> None:
    if not (browsecomp_plus or trec):
        raise UsageError("which form? --browsecomp-plus DIR or --trec FILE")
    run, dataset = _opened(folder, canary)
    if browsecomp_plus:
        count = export_browsecomp_plus(run, dataset, browsecomp_plus)
        print(f"{count} questions in {browsecomp_plus}")
    if trec:
        print(f"{export_trec(run, dataset, trec)} topics in {trec}")


def _write(file: Path, text: str) -> None:
    try:
        write_whole(file, text)
    except OSError as error:
        raise SetupError(f"cannot write {file} ({error.strerror})") from error
