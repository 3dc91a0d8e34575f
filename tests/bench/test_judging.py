"""Judges: four fields, retried, unjudged kept apart (case J1), agreement, prompts of one's own."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from corpuscope.agent import open_model
from corpuscope.bench import (
    EXACT,
    PROMPT,
    Dataset,
    Judgement,
    collect,
    evaluate,
    export_browsecomp_plus,
    html,
    judge_exactly,
    judge_run,
    judges,
    markdown,
    open_run,
    plain,
    prompt_from,
    read_judgements,
    results_of,
    run_dataset,
    summary,
    to_judge,
    write_parquet,
)
from corpuscope.corpus import Corpus
from corpuscope.errors import CorpuscopeError, UsageError
from corpuscope.models import Backoff
from corpuscope.systems import Run, load_system

from ..scripted import ScriptedServer, Step
from .conftest import Colours

YES: Step = {
    "text": "extracted_final_answer: shade\n\n**reasoning:** the same\nit is\n**correct:** yes\nconfidence: 88%"
}
NO: Step = {"text": "extracted_final_answer: None\nreasoning: other\ncorrect: NO\nconfidence: 250"}
NONSENSE: Step = {"text": "I cannot say."}


@pytest.fixture
def run(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> Run:
    with Colours() as server:
        made = open_run(tmp_path / "run", dataset, corpus, load_system("rise-bm25"), "tiny", server.base_url)
        asyncio.run(run_dataset(dataset, corpus, made, workers=4))
    return made


def judged(
    dataset: Dataset, run: Run, server: ScriptedServer, name: str = "judge", **options: object
) -> dict[str, Judgement]:
    model = open_model(name, server.base_url)
    work = judge_run(
        dataset, run, results_of(run, dataset), model, workers=1, backoff=Backoff(tries=2, first=0.01), **options
    )  # type: ignore[arg-type]
    return asyncio.run(work)


def test_a_judge_is_shown_question_reply_and_reference(dataset: Dataset, run: Run, corpus: Corpus) -> None:
    with ScriptedServer([YES, NO]) as server:
        found = judged(dataset, run, server)
        asked = server.requests[0]["messages"][-1]["content"]
        assert len(server.requests) == 11, "a question without an answer needs no judge"
        assert judged(dataset, run, server) == found and len(server.requests) == 11, (
            "what is judged is not judged again"
        )
    assert (
        "What is the colour of thing 0?" in asked
        and "Exact Answer: shade0" in asked
        and "[reference]\nshade0\n" in asked
    )
    first = found["q/0"]
    assert (first.correct, first.extracted_answer, first.reasoning, first.confidence) == (
        True,
        "shade",
        "the same\nit is",
        88.0,
    )
    assert found["q/1"].correct is False and found["q/1"].confidence == 100.0
    assert read_judgements(run, "judge") == found and judges(run) == ["judge"]
    whole = summary(evaluate(run, dataset, corpus, found))
    assert (whole["judged"], whole["correct"], whole["unjudged"]) == (12, 1, 0) and whole["accuracy"] == 1 / 12


def test_what_cannot_be_judged_is_counted_apart(dataset: Dataset, run: Run, corpus: Corpus) -> None:
    """Case J1: unreadable three times, or a server that fails; neither is wrong, and both are tried again next time."""
    with ScriptedServer([NONSENSE, NONSENSE, NONSENSE, {"status": 500}, {"status": 500}, NONSENSE, YES]) as server:
        found = judged(dataset, run, server)
        assert found["q/0"].correct is None and "cannot be read: 'I cannot say.'" in found["q/0"].unjudged
        assert found["q/1"].correct is None and "the judge failed" in found["q/1"].unjudged
        assert found["q/2"].correct is True, "read at the second try"
        whole = summary(evaluate(run, dataset, corpus, found))
        assert (whole["unjudged"], whole["judged"], whole["correct"]) == (2, 10, 9) and whole["accuracy"] == 9 / 10
        again = judged(dataset, run, server)
    assert again["q/0"].correct is True and again["q/1"].correct is True


def test_secret_answers_are_written_nowhere(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> None:
    """From the run to the report: what only the dataset knows, and a judge repeats, is in no file."""
    questions = [q.model_copy(update={"answers": (f"hush{q.query_id}",)}) for q in dataset.questions]
    hidden = replace(dataset, questions=questions, secret=True)
    with Colours() as server:
        run = open_run(tmp_path / "secret/run", hidden, corpus, load_system("rise-bm25"), "tiny", server.base_url)
        asyncio.run(run_dataset(hidden, corpus, run, workers=4))
    told: Step = {"text": "extracted_final_answer: grey\nreasoning: it is not hushq/1\ncorrect: no\nconfidence: 100"}
    with ScriptedServer([told, {"text": "hushq/2?"}, {"text": "hushq/2?"}, {"text": "hushq/2?"}, told]) as server:
        found = judged(hidden, run, server)
        assert sum("hush" in request["messages"][-1]["content"] for request in server.requests) == 13
    assert found["q/0"].reasoning == "it is not hushq/1", "the person at the terminal sees it"
    report = collect([run], hidden, corpus, "judge")
    (tmp_path / "secret/report.html").write_text(html(report) + markdown(report) + json.dumps(plain(report)))
    write_parquet(report, tmp_path / "secret/rows.parquet")
    export_browsecomp_plus(run, hidden, tmp_path / "secret/bcp")
    files = [file for file in (tmp_path / "secret").rglob("*") if file.is_file()]
    assert len(files) > 36 and not [file for file in files if b"hush" in file.read_bytes()]
    kept = read_judgements(run, "judge")
    assert kept["q/1"].unjudged == "the judge's reply cannot be read" and kept["q/0"].correct is False


def test_a_cap_on_money_needs_a_price(dataset: Dataset, run: Run) -> None:
    with ScriptedServer([YES]) as server:
        with pytest.raises(CorpuscopeError, match="no price is known for judge"):
            judged(dataset, run, server, max_cost=1.0)
        assert len(server.requests) == 1 and len(read_judgements(run, "judge")) == 1, "what is paid is kept"
    cost = 21e-6  # gpt-4o-mini: 100 tokens in at $0.15 and 10 out at $0.60 a million
    with ScriptedServer([YES]) as server:
        assert len(judged(dataset, run, server, "gpt-4o-mini", max_cost=2.5 * cost)) == 3
        assert len(judged(dataset, run, server, "gpt-4o-mini", max_cost=1.0)) == len(
            to_judge(dataset, results_of(run, dataset))
        )
        assert len(server.requests) == 11


def test_the_judge_without_a_model(dataset: Dataset, run: Run) -> None:
    found = judge_exactly(dataset, results_of(run, dataset))
    assert {id: j.correct for id, j in found.items()} == {f"q/{n}": n % 2 == 0 for n in range(11)}
    assert found["q/0"].judge == EXACT and found["q/0"].confidence == 90.0


def test_a_prompt_of_ones_own_is_another_judge(dataset: Dataset, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("Q {question} R {response} A {correct_answer} {braces}")
    with ScriptedServer([YES]) as server:
        judged(dataset, run, server)
        judged(dataset, run, server, prompt=prompt_from(file))
        assert server.requests[-1]["messages"][-1]["content"].startswith("Q What is the colour")
    assert len(judges(run)) == 2 and judges(run)[1].startswith("judge#")
    assert all(place in PROMPT for place in ("{question}", "{response}", "{correct_answer}"))
    file.write_text("{question}")
    with pytest.raises(UsageError, match=r"needs \{response\}, \{correct_answer\}"):
        prompt_from(file)


def test_a_line_cut_off_by_a_kill_is_dropped_and_a_damaged_one_is_told(dataset: Dataset, run: Run) -> None:
    file = run.folder / "judgements.jsonl"
    with ScriptedServer([YES]) as server:
        judged(dataset, run, server)
        whole = file.read_bytes()
        file.write_bytes(whole[:-10])
        assert len(read_judgements(run, "judge")) == 10
        assert len(judged(dataset, run, server)) == 11 and len(server.requests) == 12
    file.write_bytes(b'{"query_id": 1}\n' + whole)
    with pytest.raises(UsageError, match="line 1, is damaged"):
        read_judgements(run, "judge")


def test_a_reply_cannot_talk_the_judge_into_braces(dataset: Dataset, run: Run) -> None:
    """What stands in a reply is put in once: a placeholder in it is not filled."""
    results = results_of(run, dataset)
    answer = results["q/0"].answer
    assert answer is not None
    answer.explanation = "{correct_answer} is my answer"
    with ScriptedServer([YES]) as server:
        work = judge_run(dataset.only(["q/0"]), run, results, open_model("judge", server.base_url), workers=1)
        asyncio.run(work)
    assert "{correct_answer} is my answer" in server.requests[0]["messages"][-1]["content"]
