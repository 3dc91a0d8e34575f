"""Inputs that broke other people's tools (C1 to C8)."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from corpuscope.corpus import Changes, Corpus, SourceSettings
from corpuscope.corpus.document import Skipped, Unit
from corpuscope.corpus.sources.walk import walk
from corpuscope.errors import UsageError
from corpuscope.retrieve import Bm25
from corpuscope.workspace import Workspace, execute

from ..conftest import MakeCorpus, write_files


def in_w(corpus: Corpus, command: str) -> list[str]:
    """Sorted output lines of a command in a W that holds every document."""
    with Workspace(corpus) as workspace:
        workspace.add(entry.docid for entry in corpus.entries())
        return sorted(execute(workspace.sandbox, command, 30).output.decode().splitlines())


def notes(corpus: Corpus) -> dict[str, str]:
    return {place: f"{kind}: {reason}" for place, kind, reason in corpus.manifest.notes()}


def jsonl(folder: Path, rows: list[object]) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return write_files(folder, {"rows.jsonl": "\n".join(lines) + "\n"}) / "rows.jsonl"


def build(source: Path, into: Path, **settings: object) -> tuple[Corpus, Changes]:
    return Corpus.build(source, into, SourceSettings(**settings))  # type: ignore[arg-type]


C1 = {
    ".gitignore": "*.log\n.env\n.hidden/\n# MARKER-C1\n",
    "app.log": "MARKER-C1\n",
    ".env": "MARKER-C1\n",
    ".hidden/notes.md": "MARKER-C1\n",
}


@pytest.mark.parametrize("command", ["rg -l MARKER-C1", "grep -rl MARKER-C1 . | sed 's,^./,,'"])
def test_c1_ignore_files_are_content_and_plain_grep_finds_every_document(make_corpus: MakeCorpus, command: str) -> None:
    corpus = make_corpus(C1)
    assert in_w(corpus, command) == [".env", ".gitignore", ".hidden/notes.md", "app.log"]


def test_c1_the_person_may_exclude(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(C1, exclude=("*.log", ".hidden/"))
    assert [entry.path for entry in corpus.entries()] == [".env", ".gitignore"]


def test_c2_names_that_differ_in_case_alone_stay_apart(make_corpus: MakeCorpus) -> None:
    files = {
        name: f"Body of {name}\n" for name in ("a/report.md", "b/report.md", "A/Report.md", "report.md", "report.txt")
    }
    corpus = make_corpus(files)
    entries = list(corpus.entries())
    assert {entry.docid for entry in entries} == set(files)
    assert len({entry.path.casefold() for entry in entries}) == 5
    assert all(corpus.document(name).text == text for name, text in files.items())


C3 = [
    {"docid": "1", "text": "first text"},
    {"docid": "2", "text": "second text"},
    {"docid": "1", "text": "first text"},
    {"docid": "2", "text": "another text"},
    {"docid": "", "text": "no id"},
    '{"docid": "5", "text": "cut off',
    {"docid": "6", "text": None},
    {"docid": 7, "text": "a number as id"},
]


def test_c3_bad_rows_are_an_error_that_names_their_lines(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        build(jsonl(tmp_path, C3), tmp_path / "c")
    message = str(caught.value)
    for line in (4, 5, 6, 7):
        assert f"rows.jsonl:{line}:" in message
    assert "rows.jsonl:2 with another text" in message, "the other of the two lines is named too"
    assert "rows.jsonl:3" not in message, "a duplicate with equal text is no error"
    assert "--skip-bad" in message


def test_c3_good_rows_go_in_with_skip_bad(tmp_path: Path) -> None:
    corpus, changes = build(jsonl(tmp_path, C3), tmp_path / "c", skip_bad=True)
    assert {entry.docid for entry in corpus.entries()} == {"1", "2", "7"}
    assert corpus.document("2").text == "second text"
    assert len(changes.bad) == 4


def test_c3_a_corpus_with_refused_rows_is_not_searched(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        build(jsonl(tmp_path, C3), tmp_path / "c")
    with pytest.raises(UsageError, match="unfinished"):
        Bm25(Corpus.open(tmp_path / "c")).search(["text"], 10)


def test_c4_any_title_gives_a_safe_unique_path_and_is_kept(tmp_path: Path) -> None:
    titles = ["AC/DC: live", "two\nlines", "rocket \N{ROCKET} report", "-rf", "x" * 300, "dots...", "..", "CON", " ", "a:b*c?",
              unicodedata.normalize("NFC", "r\u00e9sum\u00e9"), unicodedata.normalize("NFD", "r\u00e9sum\u00e9")]  # fmt: skip
    rows: list[object] = [{"docid": f"d{i}", "title": t, "text": f"document {i}"} for i, t in enumerate(titles)]
    corpus, _ = build(jsonl(tmp_path, rows), tmp_path / "c")
    entries = {entry.docid: entry for entry in corpus.entries()}
    assert len({unicodedata.normalize("NFC", e.path).casefold() for e in entries.values()}) == len(titles)
    for i, title in enumerate(titles):
        entry = entries[f"d{i}"]
        assert entry.title == title.strip() or not title.strip()
        assert max(len(part.encode()) for part in entry.path.split("/")) <= 200
        assert (
            not entry.path.startswith(("-", "/", ".")) and "\n" not in entry.path and ".." not in entry.path.split("/")
        )
        assert corpus.document(f"d{i}").text == f"document {i}"


def test_c5_encodings_are_converted_and_reported_binaries_are_listed(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus(
        {
            "utf16.txt": "MARKER-C5 in utf-16\n".encode("utf-16"),
            "latin1.txt": "MARKER-C5 caf\u00e9 in latin-1\n".encode("latin-1"),
            "zero.txt": b"MARKER-C5 before\x00after\nMARKER-C5 second line\n",
            "crlf.txt": b"MARKER-C5 one\r\ntwo\r\n",
            "empty.txt": b"",
            "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40,
        }
    )
    assert in_w(corpus, "rg -c MARKER-C5") == ["crlf.txt:1", "latin1.txt:1", "utf16.txt:1", "zero.txt:2"]
    assert "caf\u00e9" in corpus.document("latin1.txt").text
    assert corpus.document("crlf.txt").text == "MARKER-C5 one\r\ntwo\r\n", "line ends are the document's own"
    said = notes(corpus)
    assert "UTF-16" in said["utf16.txt"] and "windows-1252" in said["latin1.txt"] and "NUL" in said["zero.txt"]
    assert said["picture.png"] == "skipped: binary" and said["empty.txt"] == "skipped: empty"


def test_c7_links_fifos_and_sockets_are_listed_not_opened(tmp_path: Path) -> None:
    source = write_files(tmp_path / "s", {"ok/a.md": "MARKER-C7 here\n"})
    os.symlink("..", source / "ok/loop")
    os.symlink("nowhere", source / "ok/dangling")
    os.symlink("/etc/hostname", source / "ok/outside")
    os.mkfifo(source / "ok/pipe")
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.path.relpath(source / "ok/socket"))
    corpus, _ = build(source, tmp_path / "c")
    assert [entry.docid for entry in corpus.entries()] == ["ok/a.md"]
    said = notes(corpus)
    assert set(said) == {"ok/loop", "ok/dangling", "ok/outside", "ok/pipe", "ok/socket"}
    assert "FIFO" in said["ok/pipe"] and "outside" in said["ok/outside"] and "nowhere" in said["ok/dangling"]


def test_c7_an_unreadable_folder_is_listed() -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to everyone else
        root = write_files(Path(folder), {"a.md": "here\n", "locked/b.md": "locked\n"})
        root.chmod(0o755)
        (root / "locked").chmod(0)
        with as_an_ordinary_user():
            found = list(walk(root, (), ()))
        (root / "locked").chmod(0o755)
    assert [unit.name for unit in found if isinstance(unit, Unit)] == ["a.md"]
    assert [str(f) for f in found if isinstance(f, Skipped)] == [
        str(Skipped("locked/", "folder cannot be read: Permission denied"))
    ]


@contextmanager
def as_an_ordinary_user() -> Iterator[None]:
    """Root reads everything; so its tests step down for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_c8_work_is_in_proportion_to_the_change(tmp_path: Path) -> None:
    source = write_files(tmp_path / "s", {f"doc{i:03}.md": f"# Doc {i}\n\nstable text {i}\n" for i in range(200)})
    corpus, first = build(source, tmp_path / "c")
    assert first.added == 200
    assert Bm25(corpus).update() == 200
    (source / "doc007.md").unlink()
    (source / "doc008.md").write_text("# Doc 8\n\nedited text\n")
    (source / "doc009.md").rename(source / "renamed.md")
    (source / "doc200.md").write_text("# Doc 200\n\nadded text\n")
    corpus.close()
    corpus, changes = build(source, tmp_path / "c")
    assert (changes.added, changes.changed, changes.removed, changes.renamed, changes.unchanged) == (2, 1, 2, 1, 197)
    engine = Bm25(corpus)
    assert engine.update() == 3, "the index reads the three documents that are new or edited"
    found = {hit.docid for ranking in engine.search(["doc", "stable", "text"], 1000) for hit in ranking}
    assert found == {entry.docid for entry in corpus.entries()} and "doc007.md" not in found
    assert [hit.docid for hit in engine.search(["edited"], 10)[0]] == ["doc008.md"]


def test_c8_nothing_changed_is_nothing_done(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    corpus = make_corpus({"a.md": "one", "b.md": "two"})
    before = (corpus.revision, os.stat(corpus.root / "text/a.md").st_ino)
    again, changes = build(tmp_path / "source0", corpus.root)
    assert changes.total == 0 and changes.unchanged == 2
    assert (again.revision, os.stat(again.root / "text/a.md").st_ino) == before


def test_an_interrupted_run_moves_the_revision_that_its_rows_have(tmp_path: Path) -> None:
    source = write_files(tmp_path / "s", {f"{i}.md": f"word {i}" for i in range(5)})

    def interrupted(done: int, total: int | None) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Corpus.build(source, tmp_path / "c", progress=interrupted)
    corpus, changes = build(source, tmp_path / "c")
    assert changes.unchanged == 5 and corpus.revision == 1
    assert len(Bm25(corpus).search(["word"], 10)[0]) == 5
