"""The packed store: shards hold the documents and nothing else, whatever came, changed, went or was cut off."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpuscope.corpus import Corpus, SourceSettings
from corpuscope.corpus import packs as packs_module
from corpuscope.errors import UsageError

from ..conftest import MakeCorpus, write_files

FILES = {
    "a.md": "# A\n\nAlpha\n",
    "deep/b.md": "no line end",
    "c.txt": "==> a.md <==\nfalse heading\n",
    "d.txt": "один\nдва\n",
}


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs_module, "SHARD_BYTES", 120)


def build(source: Path, into: Path, packed: bool = True) -> Corpus:
    corpus, _ = Corpus.build(source, into, SourceSettings(), packed=packed)
    return corpus


def shards(corpus: Corpus) -> dict[str, bytes]:
    root = corpus.store.root
    return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}


def check(corpus: Corpus, files: dict[str, str]) -> None:
    """Everything that can be told of a packed corpus from its files alone."""
    assert corpus.packs is not None
    assert {entry.path for entry in corpus.entries()} == set(files)
    there = shards(corpus)
    assert [file.path for file in corpus.files.entries()] == list(there) and len(corpus.files) == len(there)
    told = 0
    for shard, data in there.items():
        lines = data.decode().split("\n")
        rebuilt = b""
        for place in corpus.packs.documents_of(shard):
            text = files[place.path]
            assert (
                corpus.store.read(place.path).decode() == text == data[place.start : place.start + place.bytes].decode()
            )
            assert lines[place.line - 2] == f"==> {place.path} <=="
            own = text.removesuffix("\n").split("\n") if text else []
            assert lines[place.line - 1 : place.line - 1 + place.lines] == own
            rebuilt += f"==> {place.path} <==\n{text}".encode() + (b"" if text.endswith("\n") or not text else b"\n")
            told += 1
        assert rebuilt == data, "a shard holds its documents, one below the other, and not a byte more"
    assert told == len(files)
    assert list(corpus.verify()) == []


def test_documents_stand_in_shards_under_their_names(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(FILES, packed=True)
    check(corpus, FILES)
    assert list(shards(corpus)) == ["000/shard-000001.txt"]
    assert not (corpus.root / "text").exists()
    assert corpus.store.read("deep/b.md", 2) == b"no"
    with pytest.raises(FileNotFoundError):
        corpus.store.read("nope.md")


def test_materialized_they_are_files_of_their_own(make_corpus: MakeCorpus, tmp_path: Path, small_shards: None) -> None:
    corpus = make_corpus(FILES, packed=True)
    assert len(shards(corpus)) == 2
    docids = [entry.docid for entry in corpus.entries()]
    assert corpus.materialize([*docids, "gone"], tmp_path / "w") == 4
    assert corpus.materialize(docids, tmp_path / "w") == 0
    for path, text in FILES.items():
        assert (tmp_path / "w" / path).read_text() == text
        assert (tmp_path / "w" / path).stat().st_mode & 0o777 == 0o444


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.dictionaries(st.sampled_from([f"{n % 3}/d{n}.md" for n in range(12)]), st.text("ab\n =<>ж", max_size=90), max_size=12),
        min_size=1, max_size=5,
    )
)  # fmt: skip
def test_after_any_changes_shards_hold_what_is_there(
    tmp_path: Path, small_shards: None, states: list[dict[str, str]]
) -> None:
    source, into = tmp_path / "source", tmp_path / "corpus"
    for folder in (source, into):
        shutil.rmtree(folder, ignore_errors=True)
    for files in states:
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir()
        write_files(source, files)
        with build(source, into, packed=False) if into.exists() else build(source, into) as corpus:
            expected = {entry.path: files[entry.path] for entry in corpus.entries()}
            assert set(files) - set(expected) == {path for path, text in files.items() if not text.strip()}, (
                "only blank ones are left out"
            )
            check(corpus, expected)


def test_what_a_killed_run_wrote_behind_the_end_is_cut_off(tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", FILES)
    with build(source, tmp_path / "c") as corpus:
        (shard,) = shards(corpus)
        with (corpus.store.root / shard).open("ab") as file:
            file.write(b"==> half.md <==\nhalf a docu")
        (corpus.store.root / "000/shard-000002.txt").write_text("never entered")
        corpus.manifest.put("unfinished", "yes")
    write_files(source, {"e.md": "Echo\n"})
    with build(source, tmp_path / "c") as corpus:
        check(corpus, {**FILES, "e.md": "Echo\n"})


def test_a_shard_emptied_while_it_is_read_is_found_where_it_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_files(tmp_path / "source", FILES)
    reader = build(source, tmp_path / "c")
    places = reader.packs.places(["a.md"])  # type: ignore[union-attr]
    write_files(source, {"deep/b.md": "changed\n"})
    build(source, tmp_path / "c").close()
    assert not os.path.exists(reader.store.root / places[0].shard)
    once = iter([places])
    looked_up = reader.packs.places  # type: ignore[union-attr]
    monkeypatch.setattr(reader.packs, "places", lambda paths: next(once, None) or looked_up(paths))
    assert reader.store.read("a.md") == FILES["a.md"].encode()
    reader.close()


def test_a_document_larger_than_a_shard_has_one_to_itself(make_corpus: MakeCorpus, small_shards: None) -> None:
    files = {"a.md": "a\n", "b.md": "long line\n" * 50, "c.md": "c\n"}
    corpus = make_corpus(files, packed=True)
    check(corpus, files)
    assert [len(corpus.packs.documents_of(shard)) for shard in shards(corpus)] == [1, 1, 1]  # type: ignore[union-attr]


def test_a_corpus_stays_what_it_is(tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", FILES)
    build(source, tmp_path / "files", packed=False).close()
    with pytest.raises(UsageError, match=r"has a file for each document; index .* --packed into another folder"):
        build(source, tmp_path / "files", packed=True)
    build(source, tmp_path / "packed").close()
    with build(source, tmp_path / "packed", packed=False) as corpus:
        assert corpus.packs is not None


def test_no_name_but_a_shards_own_is_one(make_corpus: MakeCorpus) -> None:
    packs = make_corpus(FILES, packed=True).packs
    assert packs is not None
    for name in (
        "",
        "a.md",
        "000/shard-1.txt",
        "../packs/000/shard-000001.txt",
        "000/shard-٣.txt",
        f"000/shard-{'9' * 40}.txt",
    ):
        assert packs.documents_of(name) == []


def test_grep_over_the_shards_is_grep_over_the_documents(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(FILES, packed=True)
    assert subprocess.run(["grep", "-rc", "Alpha", corpus.store.root], capture_output=True, text=True).stdout.endswith(
        ":1\n"
    )
