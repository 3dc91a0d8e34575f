"""The providers' batch APIs: half-failed batches, rate limits, and a process that is killed while one runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from pydantic_ai.models import Model

from corpuscope.corpus import Corpus
from corpuscope.errors import CorpuscopeError, SetupError
from corpuscope.models import Backoff
from corpuscope.structure import Asking, Poll, Structured, Watch, parse_toc, strip, structure

from ..conftest import MakeCorpus
from ..scripted import ScriptedServer
from .conftest import OpenModel
from .proposing import BatchServer, essay

ESSAYS = {f"e{n}.txt": essay(f"Essay{n}") for n in range(8)}
PROVIDERS = ["openai:gpt-5.4-nano", "anthropic:claude-haiku-4-5"]


def batched(model: Model, **options: object) -> Asking:
    quick = {"backoff": Backoff(tries=4, first=0.01, longest=0.02), "poll": Poll(0.02, 0.05)}
    return Asking(model, batch=True, **(quick | options))  # type: ignore[arg-type]


def sent(server: BatchServer) -> list[int]:
    """Requests in each batch."""
    return [len(batch["rows"]) for batch in server.batches]


def titles(corpus: Corpus, path: str) -> list[str]:
    return [entry.title for entry in parse_toc((corpus.root / "structured" / path).read_bytes()).entries]


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_batch_for_all_documents(make_corpus: MakeCorpus, model_of: OpenModel, name: str) -> None:
    corpus = make_corpus(ESSAYS)
    with BatchServer(looks=3) as server:
        report = structure(corpus, batched(model_of(server, name)))
        assert not server.requests  # none was sent at the full price
    assert (report.proposed, report.left, report.replies) == (8, 0, 8) and sent(server) == [8]
    for path, text in ESSAYS.items():
        assert titles(corpus, path) == ["Part 0", "Part 1", "Part 2"]
        assert strip((corpus.root / "structured" / path).read_bytes()).decode() == text


def test_a_batch_costs_half(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    """By list prices of gpt-5.4-nano, 0.20 and 1.25 dollars a million: replies are 100 tokens in, 50 of them cached, 10 out."""
    corpus = make_corpus({"e.txt": essay("Essay")})
    with BatchServer() as server:
        report = structure(corpus, batched(model_of(server)))
    assert report.dollars == pytest.approx((50 * 0.20 + 50 * 0.02 + 10 * 1.25) / 1e6 / 2)


@pytest.mark.parametrize("name", PROVIDERS)
def test_what_fails_in_a_batch_is_sent_again(make_corpus: MakeCorpus, model_of: OpenModel, name: str) -> None:
    fates = ["ok", "error", "expired", "ok", "missing", "error", "ok", "expired"]
    with BatchServer(outcome=lambda batch, line: fates[line] if batch == 0 else "ok") as server:
        corpus = make_corpus(ESSAYS)
        report = structure(corpus, batched(model_of(server, name)))
    assert (report.proposed, report.left, report.replies) == (8, 0, 8) and sent(server) == [8, 5]


def test_what_fails_for_good_is_left_and_the_rest_is_done(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    corpus = make_corpus(ESSAYS)
    with BatchServer(outcome=lambda batch, line: "bad" if batch == 0 and line % 2 else "ok") as server:
        report = structure(corpus, batched(model_of(server)))
        assert (report.proposed, report.left) == (4, 4) and sent(server) == [8]
        assert structure(corpus, batched(model_of(server))).proposed == 4
    assert sent(server) == [8, 4]


def test_a_request_that_fails_in_every_batch_is_given_up(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    corpus = make_corpus({"e.txt": essay("Essay")})
    with BatchServer(outcome=lambda batch, line: "expired") as server:
        report = structure(corpus, batched(model_of(server)))
    assert (report.proposed, report.left) == (0, 1) and sent(server) == [1, 1, 1]


def test_a_rate_limit_on_the_batch_is_waited_for(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    corpus = make_corpus(ESSAYS)
    heard: list[str] = []
    with BatchServer(refuse=2) as server:
        report = structure(
            corpus, batched(model_of(server)), watch=Watch(retry=lambda error, wait: heard.append(error))
        )
    assert report.proposed == 8 and len(heard) == 2


def test_a_provider_that_takes_no_batch_is_one_clear_line(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    corpus = make_corpus(ESSAYS)
    with BatchServer(refuse=1_000) as server:
        with pytest.raises(CorpuscopeError, match=r"the provider fails .*run the same command again"):
            structure(corpus, batched(model_of(server)))
        server.refuse = 0
        assert structure(corpus, batched(model_of(server))).proposed == 8


def test_a_cost_cap_sends_no_more_than_it_allows(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    corpus = make_corpus({f"e{n:02}.txt": essay(f"Essay{n}", size=3_000) for n in range(40)})
    with BatchServer() as server:
        report = structure(corpus, batched(model_of(server), max_cost=0.01))
        assert report.stopped == "max cost" and report.dollars <= 0.01
        assert (
            0 < sum(sent(server)) < 40 and report.proposed == sum(sent(server)) and report.left == 40 - report.proposed
        )
        assert structure(corpus, batched(model_of(server))).proposed == report.left
    assert sum(sent(server)) == 40


def test_a_model_without_a_batch_api_says_so(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    corpus = make_corpus(ESSAYS)
    with ScriptedServer([]) as server, pytest.raises(SetupError, match="leave out --batch"):
        structure(corpus, batched(model_of(server, "openai-chat:gpt-5.4-nano")))


def test_the_same_text_twice_is_asked_about_once(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    corpus = make_corpus({"a.txt": essay("Essay"), "b.txt": essay("Essay")})
    with BatchServer() as server:
        assert structure(corpus, batched(model_of(server))).proposed == 2
    assert sent(server) == [1]


KILLED = """
import sys
from corpuscope.corpus import Corpus
from corpuscope.models import open_model
from corpuscope.structure import Asking, Poll, structure
structure(Corpus.open(sys.argv[1]), Asking(open_model("openai:gpt-5.4-nano"), batch=True, poll=Poll(0.05, 0.1)))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_finds_its_batch_again(
    make_corpus: MakeCorpus, model_of: OpenModel, tmp_path: Path, how: signal.Signals
) -> None:
    corpus = make_corpus(ESSAYS)
    with BatchServer(looks=10_000) as server:
        model = model_of(server)
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(corpus.root)], stderr=subprocess.DEVNULL, env=dict(os.environ),
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        give_up = time.monotonic() + 30
        while not (server.batches and server.batches[0]["looks"] > 1) and time.monotonic() < give_up:
            time.sleep(0.05)
        process.send_signal(how)
        assert process.wait(20) != 0
        server.looks = 0
        report = structure(corpus, batched(model))
    assert (report.proposed, report.replies) == (8, 8) and sent(server) == [8]
    statistics = Structured(corpus).statistics()
    assert statistics.costs[0].requests == 8


def test_a_batch_that_the_provider_has_forgotten_is_sent_again(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    class Forgetful(BatchServer):
        def _batches(self, method: str, path: str, body: bytes) -> tuple[int, object]:
            if method == "GET" and "batch_0" in path:
                return 404, {"error": {"message": "no such batch"}}
            return super()._batches(method, path, body)

    corpus = make_corpus(ESSAYS)
    with Forgetful() as server:
        assert structure(corpus, batched(model_of(server))).proposed == 8
    assert sent(server) == [8, 8]


def test_each_document_is_in_its_batch_once(make_corpus: MakeCorpus, model_of: OpenModel) -> None:
    corpus = make_corpus({f"e{n:03}.txt": essay(f"Essay{n}") for n in range(300)})
    with BatchServer() as server:
        assert structure(corpus, batched(model_of(server))).proposed == 300
    names = Counter(row["custom_id"] for batch in server.batches for row in batch["rows"])
    assert len(names) == 300 and set(names.values()) == {1}
    assert "Essay299" in json.dumps(server.batches[-1]["rows"])
