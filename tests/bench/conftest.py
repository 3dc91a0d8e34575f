"""A small corpus with questions of known answers, and a server that knows them."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from corpuscope.bench import Dataset, load_dataset
from corpuscope.corpus import Corpus

from ..conftest import MakeCorpus
from ..scripted import ScriptedServer, Step, call

N = 12
FILES = {f"d{n:02}.md": f"# Number {n}\n\nThe colour of thing {n} is shade{n}.\n" for n in range(N)}


@pytest.fixture
def corpus(make_corpus: MakeCorpus) -> Corpus:
    return make_corpus(FILES)


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """Question n asks for the colour of thing n; d<n>.md:3 tells it."""
    rows = [
        {"query_id": f"q/{n}", "query": f"What is the colour of thing {n}?", "answer": f"shade{n}", "kind": "odd" if n % 2 else "even",
         "gold_doc_ids": [f"d{n:02}.md"], "evidence": [f"d{n:02}.md:3-3"]}
        for n in range(N)
    ]  # fmt: skip
    (tmp_path / "colours.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return load_dataset(str(tmp_path / "colours.jsonl"))


class Colours(ScriptedServer):
    """Answers by what is asked: searches, greps, and then is right about even things and wrong about odd ones. Thing 11 gets no
    answer but an empty reply. Each reply costs what it costs, once: the history decides, not how often it is asked."""

    def __init__(self, slow: float = 0.0) -> None:
        super().__init__([])
        self.slow = slow
        self._counting = threading.Lock()

    def next_step(self, body: dict[str, Any]) -> tuple[Step, int]:
        with self._counting:
            self.requests.append(body)
        question = next(m["content"] for m in body["messages"] if m["role"] == "user")
        n = int(question.split("thing ")[1].rstrip("?"))
        turn = sum(m["role"] == "assistant" for m in body["messages"])
        steps: list[Step] = [
            {"calls": [call("search", {"queries": [f"colour thing {n}"]})]},
            {"calls": [call("bash", {"command": f"rg -n 'thing {n} '"})]},
            {"text": "" if n == 11 else f"Explanation: [d{n:02}.md:3].\nExact Answer: {f'shade{n}' if n % 2 == 0 else 'grey'}\nConfidence: {90 - n}%"},
        ]  # fmt: skip
        return {**steps[turn], **({"slow": self.slow} if self.slow else {})}, turn
