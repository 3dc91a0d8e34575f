"""W comes, lives beside its corpus, and goes."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from corpuscope.errors import ToolError
from corpuscope.workspace import Workspace, execute

from ..conftest import MakeCorpus


def test_closing_leaves_nothing(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a.md": "x"})
    with Workspace(corpus) as workspace:
        workspace.add(["a.md"])
        root = workspace.root
        assert root.exists()
    assert not root.exists() and (corpus.root / "text/a.md").read_text() == "x"


def test_what_a_killed_run_left_is_swept_and_a_live_one_is_not(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a.md": "x"})
    script = (
        "import os, sys\nfrom corpuscope.corpus import Corpus\nfrom corpuscope.workspace import Workspace\n"
        "w = Workspace(Corpus.open(sys.argv[1])); w.add(['a.md']); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, str(corpus.root)], check=False)
    parent = corpus.root / "workspaces"
    assert len(list(parent.iterdir())) == 1
    with Workspace(corpus) as first, Workspace(corpus) as second:
        assert {path.name for path in parent.iterdir()} == {first.root.name, second.root.name}


def test_an_unknown_docid_is_passed_over(make_corpus: MakeCorpus) -> None:
    with Workspace(make_corpus({"a.md": "x"})) as workspace:
        assert workspace.add(["gone.md", "a.md", "a.md"]) == ["a.md"]
        assert len(workspace) == 1 and "a.md" in workspace and "gone.md" not in workspace


def test_another_file_system_gets_copies(make_corpus: MakeCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = make_corpus({"a.md": "x", "b/c.md": "y"})

    def refuse(source: str, target: str) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    with Workspace(corpus) as workspace:
        workspace.add(["a.md", "b/c.md"])
        assert (workspace.path / "b/c.md").read_text() == "y" and not corpus.store.links
        assert not (workspace.path / "a.md").samefile(corpus.root / "text/a.md")


def test_a_corpus_that_cannot_be_written_gets_its_workspaces_elsewhere(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a.md": "x"})
    (corpus.root / "workspaces").write_text("in the way")
    with Workspace(corpus) as workspace:
        assert not workspace.root.is_relative_to(corpus.root)
        assert workspace.add(["a.md"]) == ["a.md"]
    assert not workspace.root.exists()


def test_without_a_sandbox_writing_to_w_does_not_reach_the_store(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a.md": "x"})
    with Workspace(corpus, sandboxed=False) as workspace:
        workspace.add(["a.md"])
        execute(workspace.sandbox, "chmod u+w a.md; echo changed > a.md", 10)
        assert (corpus.root / "text/a.md").read_text() == "x"


def test_a_workspace_keeps_what_it_imported_when_the_corpus_changes(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a.md": "old"})
    with Workspace(corpus) as workspace:
        workspace.add(["a.md"])
        corpus.store.write("a.md", b"new")
        assert (workspace.path / "a.md").read_text() == "old"


@pytest.mark.parametrize(("path", "normal"), [("a/./b", "a/b"), ("/w/a", "a"), ("a//b/../c", "a/c"), ("..a", "..a")])
def test_paths_are_normalised(make_corpus: MakeCorpus, path: str, normal: str) -> None:
    with Workspace(make_corpus({"x.md": "x"})) as workspace:
        assert workspace.resolve(path) == normal
        assert workspace.resolve(str(Path(workspace.path, "a"))) == "a"
        with pytest.raises(ToolError, match="outside the workspace"):
            workspace.resolve("../" + path if not path.startswith("/") else "/etc")


@pytest.mark.parametrize("path", ["../lock", "x/../../lock", "/etc/hostname", "..", "/"])
def test_nothing_outside_w_is_even_looked_at(make_corpus: MakeCorpus, path: str) -> None:
    with Workspace(make_corpus({"x.md": "x"})) as workspace:
        assert (workspace.root / "lock").is_file() and Path("/etc/hostname").is_file()
        assert not workspace.has(path) and not workspace.has_folder(path)


def test_a_folder_whose_maker_was_killed_before_it_had_a_lock_is_removed(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a.md": "alpha\n"})
    (corpus.root / "workspaces/half/w").mkdir(parents=True)
    with Workspace(corpus) as one, Workspace(corpus) as two:
        assert sorted((corpus.root / "workspaces").iterdir()) == sorted([one.root, two.root])
    assert list((corpus.root / "workspaces").iterdir()) == []


def test_many_workspaces_made_at_once_leave_each_other_alone(make_corpus: MakeCorpus) -> None:
    corpus = make_corpus({"a.md": "alpha\n"})

    def make(number: int) -> bool:
        with Workspace(corpus) as workspace:
            workspace.add(["a.md"])
            return (workspace.path / "a.md").read_text() == "alpha\n" and workspace.scratch.is_dir()

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(make, range(200)))
