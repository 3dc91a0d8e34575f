"""The pipeline over a corpus: with headings alone, and with a model asked directly."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from pydantic_ai.models import Model

from corpuscope.corpus import Corpus
from corpuscope.errors import CorpuscopeError, SetupError, UsageError
from corpuscope.models import Backoff
from corpuscope.structure import Asking, Estimate, Report, Structured, Watch, parse_toc, strip, structure
from corpuscope.structure.direct import CONCURRENCY
from corpuscope.structure.proposal import WINDOW

from ..conftest import MakeCorpus, write_files
from .conftest import OpenModel
from .proposing import ProposingServer, essay, said

FILES = {
    "a.md": "# One\ntext\n\n## Two\nmore\n",
    "b/c.rst": "Title\n=====\n\nPart\n----\n\ntext\n",
    "plain.txt": "no headings here\n",
    "code.py": "# a comment\nx = 1\n",
}
QUICK = Backoff(tries=4, first=0.01, longest=0.02)


def made(corpus: Corpus, path: str) -> bytes:
    return (corpus.root / "structured" / path).read_bytes()


def titles(corpus: Corpus, path: str) -> list[str]:
    return [entry.title for entry in parse_toc(made(corpus, path)).entries]


def snapshot(corpus: Corpus) -> dict[str, tuple[int, bytes]]:
    root = corpus.root / "structured"
    return {str(f.relative_to(root)): (f.stat().st_ino, f.read_bytes()) for f in root.rglob("*") if f.is_file()}


def test_headings_become_tables_and_the_rest_keep_their_text(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(FILES)
    report = structure(corpus)
    assert (report.own, report.without, report.proposed, report.left) == (2, 2, 0, 0)
    assert titles(corpus, "a.md") == ["One", "Two"] and titles(corpus, "b/c.rst") == ["Title", "Part"]
    assert titles(corpus, "plain.txt") == titles(corpus, "code.py") == []
    assert {path: strip(made(corpus, path)).decode() for path in FILES} == FILES
    assert {path: corpus.store.read(path).decode() for path in FILES} == FILES


def test_running_it_twice_changes_nothing(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(FILES)
    structure(corpus)
    before, revision = snapshot(corpus), Structured(corpus).revision
    assert structure(corpus) == Report()
    assert snapshot(corpus) == before and Structured(corpus).revision == revision


def test_what_changed_is_done_again_and_what_left_goes(tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", FILES)
    corpus, _ = Corpus.build(source, tmp_path / "corpus")
    structure(corpus)
    before = snapshot(corpus)
    (source / "a.md").write_text("# Uno\n")
    (source / "b/c.rst").unlink()
    (source / "new.md").write_text("# New\n")
    corpus, _ = Corpus.build(source, tmp_path / "corpus")
    assert Structured(corpus).missing() == 2
    report = structure(corpus)
    assert (report.own, report.without, report.removed) == (2, 0, 1)
    assert titles(corpus, "a.md") == ["Uno"] and titles(corpus, "new.md") == ["New"]
    after = snapshot(corpus)
    assert set(after) == {"a.md", "new.md", "plain.txt", "code.py"}
    assert after["plain.txt"] == before["plain.txt"] and Structured(corpus).missing() == 0


def test_a_limit_does_that_many_and_the_next_run_goes_on(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({f"{n}.md": f"# H{n}\n" for n in range(5)})
    assert [structure(corpus, limit=2).own for _ in range(4)] == [2, 2, 1, 0]


def test_a_document_that_changes_under_our_hands_is_left_for_the_next_run(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(FILES)
    file = corpus.store.root / "a.md"
    os.chmod(file, 0o644)
    file.write_text("# Other\n")
    report = structure(corpus)
    assert (report.own, report.left) == (1, 1)
    assert not (corpus.root / "structured/a.md").exists()


def test_statistics_of_headings(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(FILES)
    structure(corpus)
    found = Structured(corpus).statistics()
    assert (found.corpus, found.documents, found.with_entries, found.entries) == (4, 4, 2, 4)
    assert found.proposers == {"headings": 2} and found.fallbacks == {"no headings": 2} and found.costs == ()
    assert found.added == sum(len(made(corpus, path)) - len(text.encode()) for path, text in FILES.items())


def test_a_corpus_without_tables_says_how_to_make_them(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(FILES)
    with pytest.raises(UsageError, match="corpuscope structure"):
        Structured.open(corpus)


# With a model.

ESSAYS = {f"e{n}.txt": essay(f"Essay{n}") for n in range(6)}


@pytest.fixture
def corpus(make_corpus: MakeCorpus) -> Corpus:
    return make_corpus(ESSAYS | {"own.md": "# Own\n" + "text " * 200, "short.txt": "too short"})


def ask(model: Model, **options: object) -> Asking:
    return Asking(model, backoff=QUICK, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["openai:gpt-5.4-nano", "openai-chat:gpt-5.4-nano", "anthropic:claude-haiku-4-5"])
def test_a_model_is_asked_about_documents_without_headings(corpus: Corpus, model_of: OpenModel, name: str) -> None:
    with ProposingServer() as server:
        report = structure(corpus, ask(model_of(server, name)))
    assert (report.own, report.proposed, report.without, report.replies) == (1, 6, 1, 6)
    assert report.dollars > 0 and not report.unpriced
    assert titles(corpus, "own.md") == ["Own"] and titles(corpus, "short.txt") == []
    for path, text in ESSAYS.items():
        whole = made(corpus, path)
        assert strip(whole).decode() == text
        lines = [b"", *whole.split(b"\n")]
        for number, entry in enumerate(parse_toc(whole).entries):
            assert entry.title == f"Part {number}" and entry.description.endswith("and its part.")
            assert lines[entry.first] == f"## Part {number}".encode()
            assert f"tells of part {number} first".encode() in lines[entry.first + 1]
    assert all("own.md" not in said(body) and "# Own" not in said(body) for body in server.requests)


def test_everywhere_asks_about_documents_with_headings_too(corpus: Corpus, model_of: OpenModel) -> None:
    with ProposingServer() as server:
        structure(corpus)
        report = structure(corpus, ask(model_of(server), everywhere=True))
        assert report.replies == 7 and report.own == 0
        assert structure(corpus, ask(model_of(server), everywhere=True)) == Report()
    assert len(server.requests) == 7


def test_a_short_document_keeps_its_headings_whatever_is_asked(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    corpus = make_corpus({"new.md": "# New\n\ntext\n", "plain.txt": "short", "e.txt": essay("Essay")})
    with ProposingServer() as server:
        report = structure(corpus, ask(model_of(server), everywhere=True))
        assert (report.own, report.proposed, report.without) == (1, 1, 1)
        assert structure(corpus, ask(model_of(server), everywhere=True)) == Report()
    assert titles(corpus, "new.md") == ["New"] and len(server.requests) == 1


def test_a_later_run_with_a_model_takes_up_only_what_has_no_table(corpus: Corpus, model_of: OpenModel) -> None:
    structure(corpus)
    with ProposingServer() as server:
        assert structure(corpus, ask(model_of(server))).proposed == 6
        assert structure(corpus, ask(model_of(server))).replies == 0
        assert structure(corpus) == Report()
    assert titles(corpus, "e1.txt") == ["Part 0", "Part 1", "Part 2"]


def test_rate_limits_and_failures_are_tried_again(corpus: Corpus, model_of: OpenModel) -> None:
    fails = {
        0: {"status": 429, "headers": {"retry-after": "0"}},
        1: {"status": 500},
        2: {"cut": True},
        4: {"status": 503},
    }
    heard: list[str] = []
    with ProposingServer(fails) as server:
        report = structure(corpus, ask(model_of(server)), watch=Watch(retry=lambda error, wait: heard.append(error)))
    assert (report.proposed, report.left, report.replies) == (6, 0, 6)
    assert len(server.requests) == 10 and len(heard) == 4


def test_a_malformed_reply_is_asked_for_again_and_counted(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    corpus = make_corpus({"e.txt": essay("Essay")})
    with ProposingServer({0: {"text": "Sure, here it is."}, 1: {"text": '{"sections": [{"title": "x"}]}'}}) as server:
        report = structure(corpus, ask(model_of(server)))
    assert (report.proposed, report.replies) == (1, 3)
    assert "not JSON" in said(server.requests[1]) and "title and an anchor" in said(server.requests[2])
    assert Structured(corpus).statistics().malformed == 2


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("no JSON at all", "no reply could be read"),
        ('{"sections": []}', "no section proposed"),
        ('{"sections": [{"title": "A", "anchor": "nowhere to be found"}]}', "no anchor was found"),
    ],
)
def test_a_document_whose_proposal_fails_keeps_its_text(
    make_corpus: MakeCorpus, model_of: OpenModel, reply: str, why: str
) -> None:
    corpus = make_corpus({"e.txt": essay("Essay")})
    with ProposingServer(always={"text": reply}) as server:
        report = structure(corpus, ask(model_of(server)))
        asked = len(server.requests)
        assert structure(corpus, ask(model_of(server))).replies == 0 and len(server.requests) == asked
    assert (report.proposed, report.without) == (0, 1)
    assert titles(corpus, "e.txt") == [] and strip(made(corpus, "e.txt")).decode() == essay("Essay")
    assert Structured(corpus).statistics().fallbacks == {why: 1}


def test_a_long_document_is_proposed_in_windows_and_merged(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    text = essay("Saga", 60, size=2_500)
    assert 2 * WINDOW < len(text) < 3 * WINDOW
    corpus = make_corpus({"saga.txt": text})
    with ProposingServer() as server:
        report = structure(corpus, ask(model_of(server)))
    assert len(server.requests) == 3 and "part 2 of 3" in "".join(map(said, server.requests))
    assert titles(corpus, "saga.txt") == [f"Part {n}" for n in range(60)]
    found = Structured(corpus).statistics()
    assert (found.proposed, found.exact, found.lost) == (60, 60, 0) and report.proposed == 1


def test_a_model_with_a_small_context_gets_smaller_windows(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    too_long = {"status": 400, "error": {"message": "context length exceeded", "code": "context_length_exceeded"}}

    class Small(ProposingServer):
        def next_step(self, body: dict) -> tuple[dict, int]:  # type: ignore[type-arg]
            step, number = super().next_step(body)
            return (too_long, number) if len(said(body)) > 20_000 else (step, number)

    corpus = make_corpus({"saga.txt": essay("Saga", 20, size=2_500)})
    with Small() as server:
        report = structure(corpus, ask(model_of(server)))
    assert report.proposed == 1 and titles(corpus, "saga.txt") == [f"Part {n}" for n in range(20)]


def test_a_cost_cap_stops_in_the_middle_and_the_next_run_goes_on(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    corpus = make_corpus({f"e{n:02}.txt": essay(f"Essay{n}", size=3_000) for n in range(40)})
    estimates: list[Estimate] = []

    def confirm(estimate: Estimate) -> bool:
        estimates.append(estimate)
        return True

    with ProposingServer() as server:
        whole = structure(corpus, ask(model_of(server), max_cost=0.02), watch=Watch(confirm=confirm))
        assert whole.stopped == "max cost" and 0 < whole.proposed < 40 and whole.dollars <= 0.02
        assert whole.proposed + whole.left == 40
        rest = structure(corpus, ask(model_of(server)))
        assert rest.proposed == whole.left and not rest.stopped
    assert len(server.requests) == 40  # nothing was asked twice
    assert estimates[0].documents == 40 and estimates[0].dollars is not None and estimates[0].dollars > 0.02
    (cost,) = Structured(corpus).statistics().costs
    assert cost.requests == 40 and cost.dollars == pytest.approx(whole.dollars + rest.dollars)


def test_no_more_requests_are_under_way_than_the_bound(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    corpus = make_corpus({f"e{n:02}.txt": essay(f"Essay{n}") for n in range(60)})
    under_way, most, guard = 0, 0, threading.Lock()

    class Counting(ProposingServer):
        def next_step(self, body: dict) -> tuple[dict, int]:  # type: ignore[type-arg]
            nonlocal under_way, most
            with guard:
                under_way += 1
                most = max(most, under_way)
            time.sleep(0.05)
            with guard:
                under_way -= 1
            return super().next_step(body)

    with Counting() as server:
        assert structure(corpus, ask(model_of(server))).proposed == 60
    assert 4 < most <= CONCURRENCY


def test_who_does_not_confirm_pays_nothing(corpus: Corpus, model_of: OpenModel) -> None:
    with ProposingServer() as server:
        report = structure(corpus, ask(model_of(server)), watch=Watch(confirm=lambda estimate: False))
    assert report.stopped == "not confirmed" and not server.requests and report.own == 1


def test_a_cap_without_a_known_price_is_refused_before_anything_is_sent(corpus: Corpus, model_of: OpenModel) -> None:
    with ProposingServer() as server:
        with pytest.raises(UsageError, match="no price is known"):
            structure(corpus, ask(model_of(server, "openai:nobody-knows-this"), max_cost=1.0))
        assert not server.requests


def test_a_refused_key_stops_at_once(corpus: Corpus, model_of: OpenModel) -> None:
    with ProposingServer(always={"status": 401}) as server, pytest.raises(SetupError, match="refuses the API key"):
        structure(corpus, ask(model_of(server)))


def test_a_provider_that_is_down_stops_the_run_and_loses_nothing(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    corpus = make_corpus({f"e{n:02}.txt": essay(f"Essay{n}") for n in range(60)})
    fails = {n: {"status": 500} for n in range(30, 10_000)}
    with ProposingServer(fails) as server:  # type: ignore[arg-type]
        with pytest.raises(CorpuscopeError, match="keeps failing"):
            structure(corpus, ask(model_of(server)))
        done = Structured(corpus).statistics().costs[0].requests
        assert done == 30
        server.fails = {}
        before = len(server.requests)
        assert structure(corpus, ask(model_of(server))).left == 0
        assert len(server.requests) - before == 30


def test_replies_of_a_document_that_was_not_finished_are_not_paid_again(
    make_corpus: MakeCorpus, model_of: OpenModel
) -> None:
    corpus = make_corpus({"saga.txt": essay("Saga", 60, size=2_500)})
    with ProposingServer({2: {"status": 400}}) as server:  # the last of three windows, for good
        assert structure(corpus, ask(model_of(server))).left == 1
        assert structure(corpus, ask(model_of(server))).proposed == 1
    assert len(server.requests) == 4
    assert titles(corpus, "saga.txt") == [f"Part {n}" for n in range(60)]
