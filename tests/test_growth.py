"""No cost grows faster than it should: the same work at two sizes, in counts and not in seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from benchmarks.counting import Work, work
from benchmarks.grown import grown

from corpuscope.corpus import Corpus, SourceSettings
from corpuscope.retrieve import Bm25, GrepIndex, follow_ingest, need_of
from corpuscope.workspace import Workspace, dci_tools, rise_tools
from corpuscope.workspace.narrowing import serving

SMALL, LARGE = 400, 1_600
SLACK = 1.15


@dataclass
class Grown:
    """A corpus of that many documents cut from real text, and what making it took."""

    corpus: Corpus
    source: Path
    documents: int
    made: Work
    grepped: Work


def make(documents: Path, folder: Path, count: int, packed: bool) -> Grown:
    source = grown(documents, count, folder / f"{count}.jsonl")
    into = folder / f"{count}-{packed}.corpus"

    def build() -> None:
        Corpus.build(source, into, SourceSettings(), packed=packed, following=follow_ingest)[0].close()

    made = work(build)
    corpus = Corpus.open(into)
    return Grown(corpus, source, count, made, work(GrepIndex(corpus).update))


@pytest.fixture(scope="module", params=[False, True], ids=["files", "packed"])
def sizes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, django_docs: Path
) -> Iterator[tuple[Grown, Grown]]:
    folder = tmp_path_factory.mktemp("grown")
    pair = (make(django_docs, folder, SMALL, request.param), make(django_docs, folder, LARGE, request.param))
    yield pair
    for each in pair:
        each.corpus.close()


def test_indexing_is_the_same_work_for_each_document(sizes: tuple[Grown, Grown]) -> None:
    small, large = sizes
    for of_small, of_large in ((small.made, large.made), (small.grepped, large.grepped)):
        assert of_large.calls / LARGE <= SLACK * of_small.calls / SMALL
        assert of_large.opened / LARGE <= SLACK * of_small.opened / SMALL + 0.05
    if large.corpus.packs is not None:
        assert large.made.opened < LARGE / 10, "no file for each document"


def test_indexing_again_reads_nothing(sizes: tuple[Grown, Grown]) -> None:
    def again(grown: Grown) -> Work:
        return work(lambda: Corpus.build(grown.source, grown.corpus.root, SourceSettings())[0].close())

    small, large = map(again, sizes)
    assert large.calls <= SLACK * small.calls and large.opened <= small.opened + 1


def test_a_search_is_the_same_work_whatever_the_size(sizes: tuple[Grown, Grown]) -> None:
    """What is imported is counted apart: a link each, a document a time."""

    def search(grown: Grown, k: int) -> Work:
        with Workspace(grown.corpus) as workspace:
            tool = rise_tools(workspace, Bm25(grown.corpus), k)["search"]
            asyncio.run(tool.call({"queries": ["warm"]}))
            arguments = {"queries": ["session cache backend", "model field form"]}
            return work(asyncio.run, tool.call(arguments), db=grown.corpus.manifest.db)

    small, large = (search(grown, 10) for grown in sizes)
    assert (
        large.calls <= SLACK * small.calls
        and large.statements <= small.statements + 2
        and large.opened <= small.opened + 4
    )
    few, many = search(sizes[1], 50), search(sizes[1], 200)
    assert many.calls <= 4 * SLACK * few.calls and many.statements <= few.statements + 10, (
        "no statement for each document"
    )
    if sizes[1].corpus.packs is None:
        assert many.linked > few.linked


def test_bash_and_read_in_w_do_not_know_how_large_the_corpus_is(sizes: tuple[Grown, Grown]) -> None:
    def commands(grown: Grown) -> Work:
        with Workspace(grown.corpus) as workspace:
            tools = rise_tools(workspace, Bm25(grown.corpus), 20)
            asyncio.run(tools["search"].call({"queries": ["session"]}))
            path = str(next(p for p in workspace.path.rglob("*") if p.is_file()).relative_to(workspace.path))
            asyncio.run(tools["bash"].call({"command": "rg -c session | sort | head"}))
            return work(asyncio.run, tools["read"].call({"path": path, "limit": 5}), db=grown.corpus.manifest.db)

    small, large = map(commands, sizes)
    assert large.calls <= SLACK * small.calls + 200 and (large.opened, large.statements) == (
        small.opened,
        small.statements,
    )


def test_indexed_grep_asks_the_same_of_any_size(sizes: tuple[Grown, Grown], monkeypatch: pytest.MonkeyPatch) -> None:
    """The words stand nowhere: what is asked of the index is the same work, and hardly a file is looked at."""
    monkeypatch.setattr(serving, "WORTHWHILE", 1.0)
    counted, looked_at = [], []
    for each in sizes:
        index, need = GrepIndex(each.corpus), need_of("zxqv wjkz qxvw", "rust")
        index.candidates(need)
        counted.append(work(index.candidates, need))
        keys = index.candidates(need)
        assert keys is not None
        looked_at.append(len(keys))
        with Workspace(each.corpus, whole=True) as workspace:
            seen = asyncio.run(dci_tools(workspace)["bash"].call({"command": "rg -l 'zxqv wjkz qxvw'"}))
            assert "no output" in seen.text and workspace.narrowing and workspace.narrowing.narrowed == 1
    assert counted[1].calls <= SLACK * counted[0].calls and counted[1].opened == counted[0].opened
    assert max(looked_at) <= LARGE / 100
