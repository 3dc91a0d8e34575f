"""The quality run on a collection in BEIR's form, whose right figures are worked out by hand."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import write_files

ROOT = Path(__file__).parents[1]
DOCUMENTS = {
    "1": "a cat sat on the mat",
    "2": "a dog barked at a cat",
    "3": "an emu ran over the hill",
    "4": "the hill was green",
}


def test_a_collection_in_beirs_form(tmp_path: Path) -> None:
    rows = "".join(json.dumps({"_id": k, "title": f"t{k}", "text": v}) + "\n" for k, v in DOCUMENTS.items())
    queries = "".join(json.dumps({"_id": k, "text": v}) + "\n" for k, v in {"q1": "mat", "q2": "emu hill"}.items())
    qrels = "query-id\tcorpus-id\tscore\nq1\t1\t1\nq2\t4\t1\nq2\t2\t1\n"
    write_files(tmp_path / "scifact", {"corpus.jsonl": rows, "queries.jsonl": queries, "qrels/test.tsv": qrels})
    command = [
        sys.executable,
        "-m",
        "benchmarks.quality",
        "--beir",
        tmp_path / "scifact",
        "--work",
        tmp_path,
        "--engine",
        "bm25",
    ]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    means = json.loads((tmp_path / "quality.json").read_text())["engines"]
    # q1 finds its document first; q2 finds 3 and then 4, one of its two relevant ones at the second place.
    dcg, ideal = 1 / math.log2(3), 1 + 1 / math.log2(3)
    assert len(means) == 2
    for engine in means.values():
        assert engine["nDCG@10"] == pytest.approx((1 + dcg / ideal) / 2)
        assert engine["R@1000"] == pytest.approx((1 + 0.5) / 2)
    assert "published: BM25 (Pyserini, flat)" in done.stdout and "0.679" in done.stdout
