"""The page and its exported form: nothing from elsewhere, nothing that runs but its own script, and no secrets."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from corpuscope.bench import Dataset
from corpuscope.corpus import Corpus
from corpuscope.serve import exported
from corpuscope.serve.viewer.page import SCRIPTS, page
from corpuscope.systems import Run, load_system

from .conftest import Ask, OpenShelf
from .trajectories import new_run, trajectory, write

STATIC = Path(page.__code__.co_filename).parent / "static"


def answers(text: str) -> dict[str, bytes]:
    """What an exported page has in it: what is asked -> the answer."""
    found = dict(re.findall(r'<script type="text/plain" id="(answers|answer-\d+)">([^<]*)</script>', text))
    asked = json.loads(base64.b64decode(found.pop("answers")))
    return {name: gzip.decompress(base64.b64decode(found[f"answer-{n}"])) for n, name in enumerate(asked)}


@pytest.mark.parametrize("data", [None, {"runs?": b"{}"}])
def test_only_its_own_script_may_run(data: dict[str, bytes] | None) -> None:
    text = page(data)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    for tag in ("script", "style"):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1] and "unsafe" not in policy[1]
    assert ("connect-src 'none'" in policy[1]) is (data is not None)


def test_nothing_comes_from_elsewhere() -> None:
    text = page()
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)""", text) and "@import" not in text and "url(" not in text
    assert not [url for url in re.findall(r"https?://[^\s\"'`)]+", text) if "leeoniya" not in url], (
        "but who wrote uPlot"
    )


def test_no_markup_is_ever_parsed() -> None:
    """Text goes into the page as text; what would parse it does not occur in our files."""
    assert {file.name for file in STATIC.glob("*.js")} == set(SCRIPTS)
    for name in SCRIPTS:
        text = (STATIC / name).read_text()
        found = re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|srcdoc|javascript:", text)  # fmt: skip
        assert not found, f"{name}: {found}"


def test_an_export_holds_what_the_server_would_say(run: Run, shelf_of: OpenShelf, ask: Ask) -> None:
    shelf = shelf_of(run.folder)
    said: list[tuple[int, int]] = []
    found = answers(exported(shelf, lambda done, total: said.append((done, total))))
    assert said[-1] == (12, 12)
    assert found["events?question=q%252F3&run=0"] == (run.folder / "queries/q%2F3/events.jsonl").read_bytes()
    for path in ("runs?", "questions?run=0", "marks?question=q%252F3&run=0", "paths?question=q%252F3&run=0",
                 "document?block=0&form=&name=d03.md&run=0", "document?block=0&form=original&name=d03.md&run=0"):  # fmt: skip
        assert json.loads(found[path]) == ask(shelf, path), path
    documents = {re.search("name=([^&]*)", path)[1] for path in found if path.startswith("document")}  # type: ignore[index]
    assert documents == {f"d{n:02}.md" for n in range(12)}, "each is gold of a question, or cited"


def test_an_export_of_two_runs_compares_them(run: Run, dataset: Dataset, corpus: Corpus, tmp_path: Path, shelf_of: OpenShelf) -> None:  # fmt: skip
    other = new_run(tmp_path / "other", dataset, corpus, load_system("rise-bm25"))
    write(other, "q/0", trajectory("?", [], "shade0"))
    found = answers(exported(shelf_of(run.folder, other.folder)))
    assert json.loads(found["compare?run=0&second=1"])["cross_tab"]["both"] == ["q/0"]
    assert "compare?run=1&second=0" in found and "events?question=q%252F1&run=1" not in found


def test_secret_answers_are_in_no_file(dataset: Dataset, corpus: Corpus, tmp_path: Path, shelf_of: OpenShelf) -> None:
    """A benchmark that is published encrypted: the served page shows what is right, a file does not."""
    made = new_run(tmp_path / "r", dataset, corpus, load_system("rise-bm25"))
    write(made, "q/0", trajectory("?", [("bash", {"command": "ls"}, "nothing", {"command": "ls"})], "grey"))
    shelf = shelf_of(made.folder)
    shown = shelf.runs[0]
    assert "shade0" in str(shown.rows())
    shown.dataset = replace(shown.dataset, secret=True)
    text = exported(shelf)
    for path, value in answers(text).items():
        assert b"shade" not in value and b'"d00.md"' not in value, path
    assert "shade0" not in text


def test_names_in_an_export_are_written_as_a_browser_writes_them(tmp_path: Path, shelf_of: OpenShelf) -> None:
    name = "a b/ü (1)~'!*&=+%.md"
    from corpuscope.corpus import SourceSettings

    (tmp_path / "s/a b").mkdir(parents=True)
    (tmp_path / "s" / name).write_text("words\n")
    corpus, _ = Corpus.build(tmp_path / "s", tmp_path / "c", SourceSettings())
    (entry,) = corpus.entries()
    (tmp_path / "q.jsonl").write_text(json.dumps({"query_id": "q", "query": "?", "answer": "x", "gold_doc_ids": [entry.docid]}))  # fmt: skip
    from corpuscope.bench import load_dataset

    made = new_run(tmp_path / "r", load_dataset(str(tmp_path / "q.jsonl")), corpus, load_system("rise-bm25"))
    write(made, "q", trajectory("?", [], "x"))
    found = answers(exported(shelf_of(made.folder)))
    corpus.close()
    (asked,) = [path for path in found if path.startswith("document?block=0&form=&")]
    letters = "".join(c if re.match(r"[A-Za-z0-9\-_.!~*'()]", c) else "".join(f"%{b:02X}" for b in c.encode()) for c in entry.path)  # fmt: skip
    assert asked == f"document?block=0&form=&name={letters}&run=0"
