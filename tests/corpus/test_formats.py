"""Every kind of source gives the documents it holds."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from corpuscope.corpus import Corpus, SourceSettings
from corpuscope.errors import SetupError, UsageError

from ..conftest import MakeCorpus, write_files

Documents = dict[str, tuple[str, str]]


def documents(source: Path, tmp_path: Path, **settings: object) -> Documents:
    """docid -> (title, text)."""
    corpus, _ = Corpus.build(source, tmp_path / "c", SourceSettings(**settings))  # type: ignore[arg-type]
    with corpus:
        return {e.docid: (e.title, corpus.document(e.docid).text) for e in corpus.entries()}


def test_jsonl_with_guessed_fields_and_metadata(tmp_path: Path) -> None:
    row = {"_id": "q1", "title": "Title", "text": "Body", "url": "https://example.org/x", "year": 1999}
    write_files(tmp_path, {"a.jsonl": json.dumps(row) + "\n\n"})
    assert documents(tmp_path / "a.jsonl", tmp_path) == {"q1": ("Title", "Body")}
    with Corpus.open(tmp_path / "c") as corpus:
        assert corpus.document("q1").metadata == {"url": "https://example.org/x", "year": 1999}
        assert corpus.document("q1").path == "example.org/Title.txt"


def test_jsonl_compressed_and_without_ids(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"contents": "one"}\n{"contents": "two"}\n'))
    found = documents(tmp_path / "a.jsonl.gz", tmp_path)
    assert sorted(text for _, text in found.values()) == ["one", "two"]


def test_chosen_fields(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.jsonl": json.dumps({"k": 3, "t": "T", "text": "wrong", "b": "right"}) + "\n"})
    found = documents(tmp_path / "a.jsonl", tmp_path, docid_field="k", text_field="b", title_field="t")
    assert found == {"3": ("T", "right")}


def test_a_text_field_that_cannot_be_guessed_is_asked_for(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.jsonl": '{"x": "y"}\n'})
    with pytest.raises(UsageError, match=r"--text-field .*'x'"):
        documents(tmp_path / "a.jsonl", tmp_path)


def test_csv_with_quotes_and_line_ends(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.csv": 'id,title,text\r\n1,"A, B","line one\nline ""two"""\r\n2,C,D\r\n'})
    assert documents(tmp_path / "a.csv", tmp_path) == {"1": ("A, B", 'line one\nline "two"'), "2": ("C", "D")}


def test_tsv(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.tsv": "pid\tpassage\n7\tsome words\n"})
    assert documents(tmp_path / "a.tsv", tmp_path)["7"][1] == "some words"


def test_csv_as_spreadsheets_write_it_in_utf16(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes("id\ttext\n1\tk\u00e4se \u2028 x\n2\tzwei\n".encode("utf-16"))
    found = documents(tmp_path / "a.tsv", tmp_path)
    assert {docid: text for docid, (_, text) in found.items()} == {"1": "k\u00e4se \u2028 x", "2": "zwei"}


def test_csv_row_of_another_length_is_named(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.csv": "id,text\n1,a\n2,b,c\n"})
    with pytest.raises(UsageError, match=r"a\.csv:3: 3 cells under 2 names"):
        documents(tmp_path / "a.csv", tmp_path)


def test_trec(tmp_path: Path) -> None:
    text = (
        "<DOC>\n<DOCNO> FT-1 </DOCNO>\n<HEADLINE>Oil &\nwater</HEADLINE>\n<TEXT>\n<P>First.</P>\n</TEXT>\n</DOC>\n"
        "<DOC>\n<DOCNO>FT-2</DOCNO>\n<TEXT>Second.</TEXT>\n</DOC>\n"
    )
    write_files(tmp_path, {"a.trec": text})
    assert documents(tmp_path / "a.trec", tmp_path) == {"FT-1": ("Oil & water", "First.\n"), "FT-2": ("", "Second.\n")}


def test_parquet(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({"docid": [f"d{i}" for i in range(3000)], "text": [f"text {i}" for i in range(3000)]})
    parquet.write_table(table, tmp_path / "a.parquet")
    found = documents(tmp_path / "a.parquet", tmp_path)
    assert len(found) == 3000 and found["d2999"][1] == "text 2999"


def test_parquet_without_its_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SetupError, match=r"corpuscope\[parquet\]"):
        documents(tmp_path / "a.parquet", tmp_path)


def test_office_and_html_become_markdown(tmp_path: Path) -> None:
    import docx

    document = docx.Document()
    document.add_heading("Minutes", 1)
    document.add_paragraph("The council met in Turku.")
    (tmp_path / "s").mkdir()
    document.save(str(tmp_path / "s/minutes.docx"))
    write_files(
        tmp_path / "s", {"page.html": "<html><title>T</title><body><h1>Head</h1><p>Body text</p></body></html>"}
    )
    found = documents(tmp_path / "s", tmp_path)
    assert "The council met in Turku." in found["minutes.docx"][1]
    assert "# Head" in found["page.html"][1]


def test_office_without_its_extra_is_listed_with_what_to_install(
    make_corpus: MakeCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    from corpuscope.corpus.sources import folder

    monkeypatch.setattr(folder, "converter_installed", lambda: False)
    corpus = make_corpus({"a.pdf": b"%PDF-1.4", "b.md": "text"})
    assert ("a.pdf", "skipped", "pdf needs the extra: pip install 'corpuscope[convert]'") in list(
        corpus.manifest.notes()
    )


def test_a_broken_office_file_does_not_stop_the_run(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a.docx": b"PK\x03\x04 not really", "b.md": "text"})
    assert [entry.docid for entry in corpus.entries()] == ["b.md"]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Sessions\n\ntext", "Sessions"),
        ("=====\nTitle\n=====\n\ntext", "Title"),
        ("Title\n-----\ntext", "Title"),
        ("---\ntitle: 'Front matter'\n---\n# Other\n", "Front matter"),
        ("<html><head><title> A  page </title>", "A page"),
        ("no heading at all\nmore", ""),
    ],
)
def test_titles_come_from_the_first_heading(text: str, title: str) -> None:
    from corpuscope.corpus.title import guess_title

    assert guess_title(text) == title


@pytest.mark.parametrize(
    ("source", "message"),
    [("missing", "does not exist"), ("odd.xyz", "--format"), ("full", "is not a corpus")],
)
def test_wrong_sources_and_targets_say_what_to_do(tmp_path: Path, source: str, message: str) -> None:
    write_files(tmp_path, {"odd.xyz": "x", "full/file": "x", "good/a.md": "x"})
    target = tmp_path / ("full" if source == "full" else "c")
    with pytest.raises(UsageError, match=message):
        Corpus.build(tmp_path / ("good" if source == "full" else source), target)


def test_a_corpus_of_another_source_is_not_overwritten(tmp_path: Path) -> None:
    write_files(tmp_path, {"one/a.md": "x", "two/a.md": "y"})
    Corpus.build(tmp_path / "one", tmp_path / "c")
    with pytest.raises(UsageError, match="was built from"):
        Corpus.build(tmp_path / "two", tmp_path / "c")


def test_changed_settings_read_everything_again(tmp_path: Path) -> None:
    write_files(tmp_path, {"s/a.md": "x", "s/b.txt": "y"})
    Corpus.build(tmp_path / "s", tmp_path / "c")[0].close()
    corpus, changes = Corpus.build(tmp_path / "s", tmp_path / "c", SourceSettings(include=("*.md",)))
    assert [entry.docid for entry in corpus.entries()] == ["a.md"] and changes.removed == 1


def test_a_document_that_was_altered_on_disk_is_found_by_verify(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a.md": "x", "b.md": "y", "c.md": "z"})
    assert list(corpus.verify()) == []
    (corpus.root / "text/a.md").chmod(0o644)
    (corpus.root / "text/a.md").write_text("tampered")
    (corpus.root / "text/b.md").unlink()
    assert [damage.path for damage in corpus.verify()] == ["a.md", "b.md"]
