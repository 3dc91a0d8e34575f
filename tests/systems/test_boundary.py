"""No preset reaches outside its boundary: hostile calls of every tool of every system, and the corpus as before."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpuscope.bridges import call_tool
from corpuscope.corpus import Corpus, SourceSettings
from corpuscope.retrieve import GrepIndex
from corpuscope.structure import structure
from corpuscope.systems import load_system, open_workspace, presets

from ..conftest import write_files
from ..workspace.test_break_out import READS, SECRET, WRITES, digest

OUTSIDE = (
    "{host}/secret.txt", "/etc/passwd", "../manifest.sqlite", "../../secret.txt", "a.md/../../manifest.sqlite", "/proc/self/environ",
    "./../text/../manifest.sqlite", "~/.bashrc", "file:///etc/passwd", "\x00", "a.md\x00", "-f/etc/passwd", "--pre=id",
)  # fmt: skip


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("host")
    write_files(
        root,
        {
            "secret.txt": SECRET,
            "source/a.md": "alpha\n",
            "source/sub/b.md": "beta\n",
            "source/kept.md": f"kept {SECRET}\n",
        },
    )
    os.environ["CORPUSCOPE_TEST_KEY"] = SECRET
    yield root
    del os.environ["CORPUSCOPE_TEST_KEY"]


@pytest.mark.parametrize("name", presets())
def test_no_tool_reaches_outside(host: Path, name: str) -> None:
    system = load_system(name)
    whole = system.boundary == "corpus"
    corpus, _ = Corpus.build(
        host / "source", host / f"corpus-{name}", SourceSettings(exclude=("kept.md",) if whole else ())
    )
    structure(corpus)
    GrepIndex(corpus).update()  # so that rg and grep of DCI systems stand behind their front
    before = digest(corpus.root / "text"), digest(corpus.root / "structured")

    async def attack() -> None:
        with open_workspace(corpus, system) as (workspace, tools):
            workspace.add(["a.md", "sub/b.md"])  # kept.md is in the corpus and not in W

            async def attempt(tool: str, **arguments: object) -> str:
                observation, _ = await call_tool(tools, tool, arguments)
                assert SECRET not in observation.text and "root:x:" not in observation.text, (tool, arguments)
                return observation.text

            if "bash" in tools:
                for command in (
                    *READS.values(),
                    *WRITES.values(),
                    "cat /w/kept.md",
                    "rg -uuu kept /w /tmp /opt /var",
                ):
                    await attempt("bash", command=command.format(host=host, corpus=corpus.root))
                    assert (workspace.path / "a.md").read_text().endswith("alpha\n")
            for path in (*OUTSIDE, *([] if whole or name == "retrieval-agent" else ["kept.md"])):
                path = path.format(host=host)
                for tool, arguments in (
                    ("read", {"path": path}),
                    ("grep", {"pattern": ".", "path": path}),
                    ("grep", {"pattern": path}),
                    ("grep", {"pattern": ".", "glob": path}),
                    ("access", {"url": path}),
                ):
                    imports = tool == "grep" and not whole and path == "kept.md"  # which is what it is for
                    if tool in tools and not imports:
                        await attempt(tool, **arguments)
            for docid in (path.format(host=host) for path in OUTSIDE):
                for tool, arguments in (
                    ("get_document", {"docid": docid}),
                    ("read_document", {"reason": "", "docid": docid}),
                    ("read_search_results", {"reason": "", "search_id": docid}),
                ):
                    if tool in tools:
                        assert (await attempt(tool, **arguments)).startswith("Error: ")

    asyncio.run(attack())
    assert (digest(corpus.root / "text"), digest(corpus.root / "structured")) == before
    assert not list((corpus.root / "workspaces").iterdir())
    corpus.close()
