"""Systems are data; a run keeps everything that decided its result."""

from __future__ import annotations

import asyncio
import json
import tomllib
from pathlib import Path

import pytest

import corpuscope
from corpuscope.agent import ANSWER_FORM, StopReason
from corpuscope.errors import SetupError, UsageError
from corpuscope.models import Backoff
from corpuscope.retrieve import engines_of
from corpuscope.systems import ask, ask_async, load_system, presets

from ..conftest import MakeCorpus
from ..scripted import ANSWER, ScriptedServer, call


def tool_texts(server: ScriptedServer) -> list[str]:
    return [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]


FILES = {"cats.md": "# Cats\n\nA cat sat.\nIt sat on the mat.\n", "dogs.md": "A dog.\n"}
SEARCH = {"calls": [call("search", {"queries": ["cat"]})]}


def test_rise_bm25_is_what_the_paper_says() -> None:
    system = load_system("rise-bm25")
    assert (system.k, system.budget.model_calls, system.budget.seconds) == (1000, 100, 3600.0)
    assert system.tools == ("search", "bash", "read") and system.context == "level3"
    assert {"rise", "rise-bm25"} <= set(presets())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "x"\nprompt = "p"\nkk = 5\n', "kk: extra inputs are not permitted"),
        ('name = "x"\n', "prompt: field required"),
        ('name = "x"\nprompt = "p"\ntools = ["telnet"]\n', "tools"),
        ("= nonsense", "is not TOML"),
    ],
)
def test_a_wrong_system_file_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        load_system(str(tmp_path / "s.toml"))


@pytest.mark.parametrize(
    ("name", "message"), [("nope", "there are .*rise, rise-bm25"), ("missing.toml", "cannot read")]
)
def test_an_unknown_system_is_named(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_system(name)


def test_a_run_keeps_what_decided_it_and_what_came_of_it(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    corpus = make_corpus(FILES)
    with ScriptedServer([SEARCH, ANSWER]) as server:
        result = ask(corpus, "Where?", model="tiny", base_url=server.base_url, run=tmp_path / "run")
    settings = tomllib.loads((tmp_path / "run/run.toml").read_text())
    assert settings["model"] == "tiny" and settings["base_url"] == server.base_url
    assert settings["corpus"] == str(corpus.root) and settings["revision"] == 1
    assert settings["version"] == corpuscope.__version__
    assert settings["system"]["prompt"] == load_system("rise-bm25").prompt
    answer = json.loads(next((tmp_path / "run").glob("queries/*/answer.json")).read_text())
    assert answer["answer"]["exact_answer"] == "the mat" == str(result.answer)
    assert server.requests[0]["model"] == "tiny"
    assert list((corpus.root / "workspaces").iterdir()) == [], "the workspace is gone"


def test_an_own_system_chooses_tools_and_prompt(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('name = "own"\nprompt = "Only read."\ntools = ["search", "read"]\nk = 1\n')
    with ScriptedServer([ANSWER]) as server:
        ask(make_corpus(FILES), "?", system=str(tmp_path / "own.toml"), base_url=server.base_url, run=tmp_path / "r")
    request = server.requests[0]
    assert [tool["function"]["name"] for tool in request["tools"]] == ["search", "read"]
    assert request["messages"][0]["content"] == f"Only read.\n\n{ANSWER_FORM}"
    assert request["model"] == "scripted", "the model the server lists"


def test_a_second_run_does_not_overwrite_the_first(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    corpus = make_corpus(FILES)
    ask(corpus, "cat?", model="scout", run=tmp_path / "run")
    with pytest.raises(UsageError, match="--resume"):
        ask(corpus, "cat?", model="scout", run=tmp_path / "run")


def test_resume_of_a_finished_run_returns_its_result(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    corpus = make_corpus(FILES)
    with ScriptedServer([SEARCH, ANSWER]) as server:
        first = ask(corpus, "Where?", base_url=server.base_url, run=tmp_path / "run")
        asked = len(server.requests)
        again = ask(corpus, run=tmp_path / "run", resume=True)
        assert len(server.requests) == asked
    assert again == first


def test_resume_after_the_server_failed(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    corpus = make_corpus(FILES)
    with ScriptedServer([SEARCH, {"status": 500}, {"status": 500}, ANSWER]) as server:
        options = {"run": tmp_path / "run", "backoff": Backoff(tries=2, first=0.01)}
        first = ask(corpus, "Where?", base_url=server.base_url, **options)
        assert first.stop_reason is StopReason.MODEL_ERROR
        second = ask(corpus, resume=True, **options)
    assert second.stop_reason is StopReason.ANSWERED and second.spent.model_calls == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resume": True}, "--run DIR"),
        ({"resume": True, "run": "nowhere"}, "no run in nowhere"),
        ({}, "the question is empty"),
    ],
)
def test_wrong_calls_say_what_to_do(make_corpus: MakeCorpus, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ask(make_corpus(FILES), **options)


def test_resume_keeps_to_its_question_and_corpus(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    ask(make_corpus(FILES), "cat?", model="scout", run=tmp_path / "run")
    with pytest.raises(UsageError, match="asks another question"):
        ask(make_corpus(FILES), "dog?", run=tmp_path / "run", resume=True)
    with pytest.raises(UsageError, match="works on"):
        ask(make_corpus(FILES), run=tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("model", "base_url", "error"),
    [
        ("gpt-4", "", UsageError),
        ("nonsense:model", "", SetupError),
        ("openai:gpt-5.4-mini", "", SetupError),
        ("x", "localhost:8000", UsageError),
        ("", "http://127.0.0.1:9", UsageError),
    ],
)
def test_models_that_cannot_be_used_are_refused_before_anything_runs(
    make_corpus: MakeCorpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    base_url: str,
    error: type[Exception],
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(error):
        ask(make_corpus(FILES), "?", model=model, base_url=base_url, run=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_key_in_the_environment_chooses_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    from corpuscope.agent import default_model

    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    assert default_model() == "scout"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    assert default_model().startswith("anthropic:")


def test_questions_run_side_by_side(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    corpus = make_corpus(FILES)

    async def all_at_once() -> list[StopReason]:
        runs = (ask_async(corpus, f"cat {i}?", model="scout", run=tmp_path / str(i)) for i in range(6))
        return [result.stop_reason for result in await asyncio.gather(*runs)]

    assert asyncio.run(all_at_once()) == [StopReason.ANSWERED] * 6


def test_the_ranking_of_the_paper_bounds_a_run(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    corpus = make_corpus(FILES)
    search = {"calls": [call("search", {"queries": ["mats", "mat"]})]}
    with ScriptedServer([search, ANSWER]) as server:
        result = ask(corpus, "Where?", system="rise-bm25s", base_url=server.base_url, run=tmp_path / "run")
    assert result.stop_reason is StopReason.ANSWERED
    assert engines_of(corpus) == ["bm25s"], "the other is not needed"
    (seen,) = tool_texts(server)
    assert "[1] mats: no document holds any of these words" in seen, "it has no stems"
    assert "[2] mat: 1 documents" in seen


def test_grep_bounds_a_run_and_a_run_that_goes_on_has_its_files_again(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    corpus = make_corpus(FILES)
    grep = {"calls": [call("grep", {"pattern": "c.t"})]}
    read = {"calls": [call("bash", {"command": "ls; rg -n sat"})]}
    with ScriptedServer([grep, {"status": 400}, read, ANSWER]) as server:
        first = ask(corpus, "Where?", system="rise-grep", base_url=server.base_url, run=tmp_path / "run")
        assert first.stop_reason is StopReason.MODEL_ERROR
        result = ask(corpus, "Where?", run=tmp_path / "run", resume=True)
    assert result.stop_reason is StopReason.ANSWERED
    seen = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]
    assert "c.t: 1 document matches\n 1. cats.md (4 lines, 2 matches)" in seen[0] and seen[1].startswith(
        "cats.md\ncats.md:3:A cat sat."
    )


DCI = ["dci-lite", *(f"dci-lite-l{level}" for level in range(5)), "dci-read-grep"]


@pytest.mark.parametrize("name", DCI)
def test_the_systems_of_dci_are_what_the_paper_says(name: str) -> None:
    system = load_system(name)
    assert system.boundary == "corpus" and system.budget.model_calls == 300 and system.budget.seconds == 5400
    assert system.tools == (("grep", "read") if name == "dci-read-grep" else ("bash", "read"))
    level = {"dci-lite": "level3", "dci-read-grep": "level4"}.get(name, f"level{name[-1]}")
    assert system.context == level and system.settings["thinking"] == "high"


@pytest.mark.parametrize("name", DCI)
def test_a_dci_agent_works_on_the_whole_corpus_without_a_search(
    make_corpus: MakeCorpus, tmp_path: Path, name: str
) -> None:
    corpus = make_corpus(FILES)
    tool = {"name": "grep", "arguments": {"pattern": "sat"}} if name == "dci-read-grep" else {
        "name": "bash", "arguments": {"command": "rg -n sat"},
    }  # fmt: skip
    steps = [
        {"calls": [call(tool["name"], tool["arguments"])]},
        {"calls": [call("search", {"queries": ["x"]})]},
        ANSWER,
    ]
    with ScriptedServer(steps) as server:
        result = ask(corpus, "Where?", system=name, base_url=server.base_url, run=tmp_path / "run")
    assert result.stop_reason is StopReason.ANSWERED
    offered = [offer["function"]["name"] for offer in server.requests[0]["tools"]]
    assert offered == list(load_system(name).tools)
    seen = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]
    assert "cats.md:3:A cat sat." in seen[0] and "there is no tool 'search'" in seen[1]
    assert not (corpus.root / "index").exists(), "nothing is ranked, so nothing is indexed"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('boundary = "corpus"\ntools = ["search"]', "has no search"),
        ('boundary = "corpus"\ntools = ["bash"]\ndocuments = "structured"', "as they are"),
        ('boundary = "snippets"\ntools = ["grep"]', "has no grep, it has search, get_document"),
        ('context = "level5"', "context"),
        ('contxt = "level3"', "contxt"),
    ],
)
def test_choices_that_do_not_fit_together_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.toml").write_text(f'name = "x"\nprompt = "p"\n{text}\n')
    with pytest.raises(UsageError, match=message):
        load_system(str(tmp_path / "x.toml"))


def test_a_retrieval_agent_sees_beginnings_and_whole_documents(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    long = "# Cats\n\nA cat sat.\n" + "word " * 1_000
    corpus = make_corpus({"cats.md": long, **{f"{n}.md": f"# {n}\n\nA cat ran {n}.\n" for n in range(9)}})
    steps = [
        {"calls": [call("search", {"query": "cat sat"})]},
        {"calls": [call("get_document", {"docid": "cats.md"}), call("get_document", {"docid": "nope"})]},
        {"text": "Explanation: it sat [cats.md].\nExact Answer: sat\nConfidence: 90%"},
    ]
    with ScriptedServer(steps) as server:
        result = ask(corpus, "?", system="retrieval-agent", base_url=server.base_url, run=tmp_path / "run")
    assert [tool["function"]["name"] for tool in server.requests[0]["tools"]] == ["search", "get_document"]
    first, whole, missing = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]
    assert first.count("docid: ") == 5
    beginning = next(part for part in first.split("\n\n[") if "docid: cats.md" in part).split("\n", 2)[2]
    assert beginning == long[: 512 * 4] + " ..."
    assert whole == long and "no document 'nope'" in missing
    assert result.answer is not None
    assert [(c.path, c.problem) for c in result.answer.citations] == [("cats.md", "")]


def test_a_system_may_extend_a_preset(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('extends = "dci-lite-l1"\nname = "mine"\n[budget]\nmodel_calls = 7\n')
    mine, base = load_system(str(file)), load_system("dci-lite")
    assert (mine.name, mine.context, mine.budget.model_calls, mine.budget.seconds) == ("mine", "level1", 7, 5400)
    assert (mine.prompt, mine.tools, mine.settings) == (base.prompt, base.tools, base.settings)
    file.write_text('extends = "nope"\nname = "mine"\n')
    with pytest.raises(UsageError, match="no system 'nope'"):
        load_system(str(file))
