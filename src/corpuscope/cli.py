"""The command line: parses, calls the library, prints. Imports of the library wait until they are needed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import __version__

app = typer.Typer(
    help="Let an agent answer hard questions from a document collection by working on the text itself.\n\n"
    "Example:\n\n"
    "  corpuscope index docs/ --into my.corpus\n\n"
    '  corpuscope ask my.corpus "Which release first ...?"',
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

CorpusPath = Annotated[Path, typer.Argument(help="A corpus made by `corpuscope index`.", metavar="CORPUS")]
Json = Annotated[bool, typer.Option("--json", help="One JSON value on standard output, for machines.")]
BaseUrl = Annotated[str, typer.Option(help="An OpenAI-compatible server, such as http://127.0.0.1:8000/v1.")]
NoSandbox = Annotated[
    str, typer.Option("--sandbox", help="`off` runs commands unprotected: only for documents and models you trust.")
]


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")] = False,
) -> None:
    if version:
        print(f"corpuscope {__version__}")
        raise typer.Exit


@app.command()
def index(
    source: Annotated[
        Path, typer.Argument(help="A folder of documents, or a .jsonl, .parquet, .csv, .tsv or TREC file.")
    ],
    into: Annotated[Path, typer.Option("--into", help="The corpus to make or to bring up to date.")],
    format: Annotated[str, typer.Option(help="auto, folder, jsonl, parquet, csv, tsv, trec or mixture.")] = "auto",
    docid_field: Annotated[str, typer.Option(help="The field that holds the docid. [guessed]")] = "",
    text_field: Annotated[str, typer.Option(help="The field that holds the text. [guessed]")] = "",
    title_field: Annotated[str, typer.Option(help="The field that holds the title. [guessed]")] = "",
    include: Annotated[list[str] | None, typer.Option(help="Only files that match this glob; may be repeated.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="No file that matches this glob; may be repeated.")] = None,
    language: Annotated[str, typer.Option(help="Whose word endings the search folds; `none` folds none.")] = "english",
    packed: Annotated[
        bool,
        typer.Option("--packed", help="No file for each document: for millions of short ones. Asked of a new corpus."),
    ] = False,
    retriever: Annotated[
        list[str] | None,
        typer.Option(
            help="Index for bm25s, dense=MODEL or late=MODEL, too; may be repeated. What is there is kept up to date.",
            metavar="NAME[=MODEL]",
        ),
    ] = None,
    grep: Annotated[
        bool,
        typer.Option(
            "--grep/--no-grep", help="The n-gram index, a tenth of the text, that rg and grep -r answer through."
        ),
    ] = True,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Index the good rows in spite of bad ones.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write every skipped or altered document to this file.")] = None,
    json: Json = False,
) -> None:
    """Make a corpus from documents, or bring it up to date with them.

    Running it again does work in proportion to what changed.

    Examples:

      corpuscope index docs/ --into docs.corpus --exclude '*.min.js'

      corpuscope index rows.jsonl --into rows.corpus --text-field body

      corpuscope index passages.jsonl --into passages.corpus --packed

      corpuscope index docs/ --into docs.corpus --retriever dense=openai:text-embedding-3-small
    """
    from .commands.index import index_command

    index_command(
        source, into, format=format, docid_field=docid_field, text_field=text_field, title_field=title_field,
        include=tuple(include or ()), exclude=tuple(exclude or ()), language=language, packed=packed, grep=grep, retrievers=tuple(retriever or ()), skip_bad=skip_bad,
        report=report, as_json=json,
    )  # fmt: skip


@app.command()
def search(
    corpus: CorpusPath,
    queries: Annotated[list[str], typer.Argument(help="Each is ranked by itself.", metavar="QUERY...")],
    k: Annotated[int, typer.Option("-k", help="Documents for each query.", min=1)] = 10,
    retriever: Annotated[str, typer.Option(help="bm25, bm25s, rm3, dense, late, or several joined by +.")] = "bm25",
    rerank: Annotated[
        str,
        typer.Option(
            help="Read the best again: cross-encoder, pointwise, setwise or listwise, and a model.",
            metavar="KIND:MODEL",
        ),
    ] = "",
    rerank_depth: Annotated[int, typer.Option(help="How many of the best.", min=2)] = 100,
    json: Json = False,
) -> None:
    """Rank the corpus for each query.

    Examples:

      corpuscope search docs.corpus "session backend" "cache alias" -k 5

      corpuscope search docs.corpus "session backend" --retriever bm25+dense --rerank listwise:openai:gpt-5.4-mini
    """
    from .commands.search import search_command

    search_command(corpus, queries, k=k, engine=retriever, rerank=rerank, depth=rerank_depth, as_json=json)


@app.command()
def ask(
    corpus: CorpusPath,
    question: Annotated[str, typer.Argument(help="May be left out with --resume.")] = "",
    system: Annotated[str, typer.Option(help="A named system, or a .toml file. [rise, without tables rise-bm25]")] = "",
    task: Annotated[
        str, typer.Option(help="`answer`, or `ranking`: at most 20 documents, best first. [answer, if the system can]")
    ] = "",
    force_answer: Annotated[
        bool, typer.Option("--force-answer", help="Ask for one last reply when a limit is reached.")
    ] = False,
    model: Annotated[str, typer.Option(help="provider:model, or `scout` (no language model). [by the key set]")] = "",
    base_url: BaseUrl = "",
    run: Annotated[Path | None, typer.Option(help="Keep the trajectory here. [CORPUS/runs/...]")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --run.")] = False,
    max_cost: Annotated[float | None, typer.Option(help="Stop at this many US dollars.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Stop after this many model calls.", min=1)] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Stop after this long.")] = None,
    sandbox: NoSandbox = "on",
    json: Json = False,
) -> None:
    """Let an agent answer a question, with citations as path:line-line.

    Examples:

      corpuscope ask docs.corpus "Which setting ...?"

      corpuscope ask docs.corpus "..." --model anthropic:claude-sonnet-5-5 --max-cost 0.50

      corpuscope ask docs.corpus "..." --base-url http://127.0.0.1:8000/v1

      corpuscope ask docs.corpus "cache settings" --system bm25

      corpuscope ask docs.corpus "..." --task ranking

      corpuscope ask docs.corpus --run runs/one --resume
    """
    from .commands.ask import ask_command

    ask_command(
        corpus, question, system=system, task=task, force_answer=force_answer, model=model, base_url=base_url, run=run,
        resume=resume, max_cost=max_cost, max_calls=max_calls, max_seconds=max_seconds, sandboxed=_sandboxed(sandbox), as_json=json,
    )  # fmt: skip


@app.command()
def structure(
    corpus: CorpusPath,
    propose: Annotated[
        str,
        typer.Option(help="headings (the documents' own), auto (a model for documents without), or a provider:model."),
    ] = "auto",
    base_url: BaseUrl = "",
    batch: Annotated[bool, typer.Option("--batch", help="By the provider's batch API: half the price, later.")] = False,
    max_cost: Annotated[float | None, typer.Option(help="Stop at this many US dollars.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most this many documents.", min=1)] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a model is paid.")] = False,
    stats: Annotated[bool, typer.Option("--stats", help="Only say what there is.")] = False,
    json: Json = False,
) -> None:
    """Give documents tables of contents with line ranges.

    Headings that a document has become its table for nothing. With a key in the environment, or a model named, a model
    proposes sections for the others. Running it again does what is new or changed.

    Examples:

      corpuscope structure docs.corpus --propose headings

      corpuscope structure docs.corpus --propose openai:gpt-5.4-nano --batch --max-cost 5

      corpuscope structure docs.corpus --stats
    """
    from .commands.structure import statistics_command, structure_command

    if stats:
        statistics_command(corpus, as_json=json)
        return
    structure_command(
        corpus, propose=propose, base_url=base_url, batch=batch, max_cost=max_cost, limit=limit, yes=yes, as_json=json
    )


@app.command()
def toc(
    corpus: CorpusPath,
    path: Annotated[str, typer.Argument(help="A document's path, as search prints it.")],
    json: Json = False,
) -> None:
    """Show the table of contents of a document.

    Example:

      corpuscope toc docs.corpus topics/http/sessions.txt
    """
    from .commands.structure import toc_command

    toc_command(corpus, path, as_json=json)


@app.command()
def shell(
    corpus: CorpusPath,
    queries: Annotated[list[str] | None, typer.Argument(help="Sub-queries whose documents fill the workspace.")] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="All of the corpus, as DCI has it, instead of queries.")
    ] = False,
    command: Annotated[str, typer.Option("-c", help="Run this one command instead of a shell.")] = "",
    k: Annotated[int, typer.Option("-k", help="Documents for each query.", min=1)] = 1000,
    sandbox: NoSandbox = "on",
) -> None:
    """Work in the bounded workspace an agent would get.

    Examples:

      corpuscope shell docs.corpus "session backend"

      corpuscope shell docs.corpus "session backend" -c "rg -n cached_db | head"

      corpuscope shell docs.corpus --whole -c "rg -l cached_db"
    """
    from .commands.shell import shell_command

    shell_command(corpus, queries or (), whole=whole, command=command, k=k, sandboxed=_sandboxed(sandbox))


@app.command()
def mcp(
    corpus: CorpusPath,
    system: Annotated[str, typer.Option(help="Whose tools. [rise, without tables rise-bm25]")] = "",
    install: Annotated[
        str, typer.Option(help="Tell claude-code, codex, cursor, gemini, opencode, pi or vscode of it; asks first.")
    ] = "",
    name: Annotated[str, typer.Option(help="What the other agent calls it. [the corpus's name]")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Install without asking.")] = False,
    http: Annotated[str, typer.Option(help="HOST:PORT to serve many clients over HTTP, not one on stdin.")] = "",
    token: Annotated[str, typer.Option(help="What HTTP clients must show. [CORPUSCOPE_TOKEN, or a new one]")] = "",
    k: Annotated[int | None, typer.Option("-k", help="Documents for each sub-query. [1000]", min=1)] = None,
    command_seconds: Annotated[float | None, typer.Option(help="What one command may take. [60]")] = None,
    max_sessions: Annotated[int, typer.Option(help="HTTP clients at a time.", min=1)] = 100,
    idle_seconds: Annotated[float, typer.Option(help="An HTTP client away for so long loses its workspace.")] = 1800.0,
    sandbox: NoSandbox = "on",
) -> None:
    """Serve search, bash and read to other agents, over the Model Context Protocol.

    Each client gets a workspace of its own, which goes when the client does.

    Examples:

      corpuscope mcp docs.corpus --install claude-code

      claude mcp add docs -- corpuscope mcp /path/to/docs.corpus

      corpuscope mcp docs.corpus --http 127.0.0.1:8800
    """
    from .commands.mcp import install_command, mcp_command

    if install:
        install_command(corpus, install, name=name, system=system, yes=yes)
        return
    mcp_command(
        corpus, system=system, http=http, token=token, k=k, command_seconds=command_seconds,
        max_sessions=max_sessions, idle_seconds=idle_seconds, sandboxed=_sandboxed(sandbox),
    )  # fmt: skip


bench = typer.Typer(
    help="Run systems over benchmarks, judge, measure and compare them.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(bench, name="bench")

RunFolder = Annotated[Path, typer.Argument(help="A run made by `bench run`.", metavar="RUN")]
Canary = Annotated[
    str, typer.Option(envvar="CORPUSCOPE_CANARY", help="What an encrypted dataset is decrypted with, by its authors.")
]
Qrels = Annotated[Path | None, typer.Option(help="Judgements for TREC topics.")]
Ids = Annotated[Path | None, typer.Option(help="Only the questions whose ids this file lists.")]
AskedOf = Annotated[Path, typer.Option(help="The corpus the questions are asked of.")]
BenchModel = Annotated[str, typer.Option(help="provider:model, or `scout`. [by the key set]")]
Workers = Annotated[int, typer.Option(help="Questions at a time.", min=1)]
Limit = Annotated[int | None, typer.Option(help="Only the first so many questions.", min=1)]
MaxCost = Annotated[
    float | None, typer.Option(help="Stop at this many US dollars, earlier runs over the folder included.")
]
DatasetName = Annotated[
    str,
    typer.Argument(
        help="A name of `bench datasets`, a .jsonl or .parquet file, a BEIR folder, topics.", metavar="DATASET"
    ),
]


@bench.command("datasets")
def bench_datasets(
    action: Annotated[str, typer.Argument(help="`show` tells of one.", metavar="[show]")] = "",
    name: Annotated[str, typer.Argument(help="A name or a path.", metavar="[NAME]")] = "",
    canary: Canary = "",
    json: Json = False,
) -> None:
    """List the benchmarks that are known by name, or look into one.

    Examples:

      corpuscope bench datasets

      corpuscope bench datasets show django-hops
    """
    from .commands.bench import datasets_command

    datasets_command(action, name, canary=canary, as_json=json)


@bench.command("check")
def bench_check(
    dataset: DatasetName,
    corpus: Annotated[Path, typer.Option(help="The corpus its documents should be in.")],
    canary: Canary = "",
    qrels: Qrels = None,
) -> None:
    """Whether a benchmark fits a corpus: documents, evidence lines, answers, shortcuts.

    Example:

      corpuscope bench check django-hops --corpus django.corpus
    """
    from .commands.bench import check_command

    check_command(dataset, corpus, canary=canary, qrels=qrels)


@bench.command("run")
def bench_run(
    dataset: DatasetName,
    corpus: AskedOf,
    run: Annotated[Path, typer.Option(help="Keep everything here; the same command goes on with it.")],
    system: Annotated[str, typer.Option(help="A named system, or a .toml file. [rise, without tables rise-bm25]")] = "",
    model: BenchModel = "",
    base_url: BaseUrl = "",
    workers: Workers = 4,
    limit: Limit = None,
    max_cost: MaxCost = None,
    ids: Ids = None,
    qrels: Qrels = None,
    canary: Canary = "",
    task: Annotated[str, typer.Option(help="`answer` or `ranking`. [the dataset's]")] = "",
    sandbox: NoSandbox = "on",
    json: Json = False,
) -> None:
    """Ask every question of a benchmark; run again, it does what is missing.

    Examples:

      corpuscope bench run django-hops --corpus django.corpus --system scout --run runs/scout

      corpuscope bench run browsecomp-plus --corpus bcp.corpus --model openai:gpt-5.4-mini --ids hundred.txt --max-cost 30
    """
    from .commands.bench import run_command

    run_command(
        dataset, corpus, system=system, model=model, base_url=base_url, run=run, workers=workers, limit=limit,
        max_cost=max_cost, canary=canary, qrels=qrels, ids=ids, task=task, sandboxed=_sandboxed(sandbox), as_json=json,
    )  # fmt: skip


@bench.command("scale")
def bench_scale(
    dataset: DatasetName,
    corpus: AskedOf,
    distractors: Annotated[Path, typer.Option(help="Another corpus, from which documents are mixed in.")],
    into: Annotated[Path, typer.Option(help="Keep corpora and runs here; the same command goes on with them.")],
    times: Annotated[
        list[float] | None, typer.Option(help="A size, as a multiple of the corpus. [1 2 4 10]", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses the distractors; larger sizes include those of smaller ones.")] = 0,
    system: Annotated[list[str] | None, typer.Option(help="A system to run; may be repeated.")] = None,
    model: BenchModel = "",
    base_url: BaseUrl = "",
    workers: Workers = 4,
    limit: Limit = None,
    max_cost: MaxCost = None,
    ids: Ids = None,
    qrels: Qrels = None,
    canary: Canary = "",
    json: Json = False,
) -> None:
    """The same questions in corpora that grow by distractors.

    Example:

      corpuscope bench scale django-hops --corpus django.corpus --distractors linux.corpus --system rise --into scale
    """
    from .commands.experiments import scale_command

    scale_command(
        dataset, corpus, distractors=distractors, into=into, times=times or [1, 2, 4, 10], seed=seed, systems=system or [""],
        model=model, base_url=base_url, workers=workers, limit=limit, max_cost=max_cost, canary=canary, ids=ids, qrels=qrels, as_json=json,
    )  # fmt: skip


@bench.command("grid")
def bench_grid(
    dataset: DatasetName,
    corpus: AskedOf,
    vary: Annotated[list[str], typer.Option(help="KEY=VALUE,VALUE,... of a system; may be repeated.")],
    into: Annotated[Path, typer.Option(help="Keep the runs here; the same command goes on with them.")],
    system: Annotated[str, typer.Option(help="The system that is varied. [rise, without tables rise-bm25]")] = "",
    model: BenchModel = "",
    base_url: BaseUrl = "",
    workers: Workers = 4,
    limit: Limit = None,
    max_cost: MaxCost = None,
    ids: Ids = None,
    qrels: Qrels = None,
    canary: Canary = "",
    json: Json = False,
) -> None:
    """One system in all combinations of some of its choices.

    Example:

      corpuscope bench grid django-hops --corpus django.corpus --vary k=10,100,1000 --vary context=level0,level3 --into grid
    """
    from .commands.experiments import grid_command

    grid_command(
        dataset, corpus, vary=vary, into=into, system=system, model=model, base_url=base_url, workers=workers, limit=limit,
        max_cost=max_cost, canary=canary, ids=ids, qrels=qrels, as_json=json,
    )  # fmt: skip


@bench.command("judge")
def bench_judge(
    run: RunFolder,
    model: Annotated[str, typer.Option(help="provider:model of the judge.")],
    base_url: BaseUrl = "",
    prompt: Annotated[
        Path | None, typer.Option(help="Its prompt, with {question}, {response} and {correct_answer}.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Judgements at a time.", min=1)] = 4,
    max_cost: Annotated[float | None, typer.Option(help="Stop at this many US dollars.")] = None,
    canary: Canary = "",
    json: Json = False,
) -> None:
    """Let a model judge the answers of a run; run again, it judges what is missing.

    Example:

      corpuscope bench judge runs/one --model openai:gpt-5.1
    """
    from .commands.report import judge_command

    judge_command(
        run,
        model=model,
        base_url=base_url,
        prompt=prompt,
        workers=workers,
        max_cost=max_cost,
        canary=canary,
        as_json=json,
    )


@bench.command("report")
def bench_report(
    runs: Annotated[
        list[Path], typer.Argument(help="Over the same questions; each is compared with the first.", metavar="RUN...")
    ],
    judge: Annotated[str, typer.Option(help="Whose judgements count. [the model that judged, else `exact`]")] = "",
    html: Annotated[Path | None, typer.Option(help="Write the page here. [the first run's report.html]")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write one row a question here.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Only print tables.")] = False,
    canary: Canary = "",
    json: Json = False,
) -> None:
    """Measure runs and compare them.

    Examples:

      corpuscope bench report runs/scout

      corpuscope bench report runs/rise runs/dci-lite --judge openai:gpt-5.1 --html report.html
    """
    from .commands.report import report_command

    report_command(runs, judge=judge, canary=canary, page=html, parquet=parquet, as_markdown=markdown, as_json=json)


@bench.command("compare")
def bench_compare(
    first: RunFolder,
    second: Annotated[Path, typer.Argument(help="Another over the same questions.", metavar="RUN")],
    judge: Annotated[str, typer.Option(help="Whose judgements count. [the model that judged, else `exact`]")] = "",
    canary: Canary = "",
    json: Json = False,
) -> None:
    """What sets two runs apart, and whether it is more than chance.

    Example:

      corpuscope bench compare runs/rise runs/dci-lite
    """
    from .commands.report import report_command

    report_command(
        [first, second], judge=judge, canary=canary, page=None, parquet=None, as_markdown=not json, as_json=json
    )


@bench.command("export")
def bench_export(
    run: RunFolder,
    browsecomp_plus: Annotated[
        Path | None, typer.Option(help="A folder for BrowseComp-Plus's evaluation and leaderboard.")
    ] = None,
    trec: Annotated[Path | None, typer.Option(help="A TREC run file, for rankings.")] = None,
    canary: Canary = "",
) -> None:
    """Write a run in the form that others evaluate.

    Example:

      corpuscope bench export runs/bm25 --trec bm25.run
    """
    from .commands.report import export_command

    export_command(run, browsecomp_plus=browsecomp_plus, trec=trec, canary=canary)


@app.command()
def view(
    runs: Annotated[
        list[Path], typer.Argument(help="Folders of runs, or folders that have some in them.", metavar="RUN...")
    ],
    export: Annotated[Path | None, typer.Option(help="Write one HTML file that needs no server, and end.")] = None,
    http: Annotated[str, typer.Option(help="HOST:PORT to serve at. [127.0.0.1:8801, or a free port]")] = "",
    token: Annotated[
        str, typer.Option(help="What a reader must show beyond this machine. [CORPUSCOPE_TOKEN, else a new one]")
    ] = "",
    corpus: Annotated[Path | None, typer.Option(help="Where the documents are, if they were moved.")] = None,
    judge: Annotated[str, typer.Option(help="Whose judgements count. [the model that judged, else `exact`]")] = "",
    canary: Canary = "",
    browser: Annotated[bool, typer.Option(help="Open a browser where there is a screen.")] = True,
) -> None:
    """Look at runs in a browser: every call, how the workspace grew, where gold was seen; also while they go on.

    Examples:

      corpuscope view docs.corpus/runs

      corpuscope view runs/rise runs/dci-lite

      corpuscope view runs/rise --export rise.html
    """
    from .commands.view import view_command

    view_command(
        runs, export=export, http=http, token=token, corpus=corpus, judge=judge, canary=canary, browser=browser
    )


@app.command()
def systems(
    action: Annotated[str, typer.Argument(help="`show` prints the TOML of one system.", metavar="[show]")] = "",
    name: Annotated[str, typer.Argument(help="Which one.", metavar="[NAME]")] = "",
    json: Json = False,
) -> None:
    """List the systems that come with corpuscope, or show one.

    Examples:

      corpuscope systems

      corpuscope systems show dci-lite > mine.toml
    """
    from .commands.systems import systems_command

    systems_command(action, name, as_json=json)


@app.command()
def doctor(
    corpus: Annotated[Path | None, typer.Argument(help="A corpus to look over too.", metavar="[CORPUS]")] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Read every document and compare it.")] = False,
    json: Json = False,
) -> None:
    """Check the sandbox, ripgrep, keys and a corpus, and say what to do.

    Example:

      corpuscope doctor docs.corpus
    """
    from .commands.doctor import doctor_command

    doctor_command(corpus, verify=verify, as_json=json)


def _sandboxed(choice: str) -> bool:
    if choice not in ("on", "off"):
        raise typer.BadParameter("on or off", param_hint="--sandbox")
    return choice == "on"


def main() -> None:
    """The console script. What a person must act on is one line on standard error and a non-zero exit code."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"] if debug else sys.argv[1:]
    from .errors import CorpuscopeError

    try:
        app(arguments, standalone_mode=True)
    except CorpuscopeError as error:
        if debug:
            raise
        print(f"corpuscope: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        if debug:
            raise
        print(f"corpuscope: {error.filename or ''}: {error.strerror or error}".replace(": :", ":"), file=sys.stderr)
        sys.exit(3)
