"""Who may read what: nobody but this machine, or who has the token; and no file but documents and events."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpuscope.bench import Dataset
from corpuscope.corpus import Corpus
from corpuscope.serve import Shelf, is_loopback
from corpuscope.systems import Run, load_system

from .conftest import Ask, OpenShelf
from .trajectories import new_run, trajectory, write

TOKEN = "a-secret-token"


@pytest.fixture
def run(dataset: Dataset, corpus: Corpus, tmp_path: Path) -> Run:
    """One trajectory, written down."""
    made = new_run(tmp_path / "run", dataset, corpus, load_system("rise-bm25"))
    data = {"queries": [{"query": "thing", "found": 1, "new": 1, "top": ["d00.md"], "paths": ["d00.md"]}], "imported": ["d00.md"], "workspace": 1}  # fmt: skip
    write(made, "q/0", trajectory("What is the colour of thing 0?", [("search", {"queries": ["thing"]}, "", data)], "shade0"))  # fmt: skip
    return made


@pytest.fixture
def shelf(run: Run, shelf_of: OpenShelf) -> Shelf:
    return shelf_of(run.folder, measured=False)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8801", 200), ("localhost:8801", 200), ("[::1]:8801", 200), ("127.0.0.1", 200), ("evil.example", 421),
        ("evil.example:8801", 421), ("127.0.0.1.evil.example", 421), ("192.168.1.5:8801", 421), ("", 421),
    ],
)  # fmt: skip
def test_a_page_elsewhere_cannot_read_through_a_name(shelf: Shelf, ask: Ask, host: str, status: int) -> None:
    """A site that points its own name at 127.0.0.1 is refused by that name."""
    assert ask(shelf, "runs", whole=True, host=host).status_code == status


@pytest.mark.parametrize(
    ("site", "status"), [("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403)]
)
def test_a_page_elsewhere_cannot_ask(shelf: Shelf, ask: Ask, site: str, status: int) -> None:
    assert ask(shelf, "runs", whole=True, **{"sec-fetch-site": site}).status_code == status
    assert ask(shelf, "/", whole=True, **{"sec-fetch-site": site}).status_code == 200, (
        "a link to the page may be followed"
    )


def test_beyond_this_machine_a_token_is_wanted(shelf: Shelf, ask: Ask) -> None:
    far = {"host": "10.0.0.7:8801", "token": TOKEN, "whole": True}
    for path in ("/", "runs", "/?token=wrong", "/?token=", "events?run=0&question=q%252F0", f"runs?token={TOKEN}"):
        refused = ask(shelf, path, **far)
        assert refused.status_code == 401 and "token" in refused.text and "colour" not in refused.text, path
    assert ask(shelf, "runs", cookie="corpuscope_token=wrong", **far).status_code == 401
    assert ask(shelf, "runs", cookie="corpuscope_token=ü".encode(), **far).status_code == 401
    entered = ask(shelf, f"/?token={TOKEN}", **far)
    assert (entered.status_code, entered.headers["location"]) == (303, "/"), "the token leaves the address"
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert ask(shelf, "runs", cookie=f"corpuscope_token={TOKEN}", **far).status_code == 200


def test_every_answer_is_for_this_page_alone(shelf: Shelf, ask: Ask) -> None:
    for path in ("/", "runs", "nothing", "events?run=0&question=x"):
        headers = ask(shelf, path, whole=True).headers
        assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff", path
        assert headers["x-frame-options"] == "DENY" and "access-control-allow-origin" not in headers
        assert headers["cross-origin-resource-policy"] == "same-origin"


HOSTILE = [
    "questions?run=9", "questions?run=-1", "questions?run=x", "questions?run=999999999999999999999", "compare?run=0&second=7",
    "marks?run=0&question=../../..", "marks?run=0&question=", "marks?run=0", "paths?run=0&question=%00", "events?run=0&question=../run.toml",
    "events?run=0&question=%2Fetc", "events?run=0&question=q%252F0&from=99999999999999999999", "events?run=0&question=q%252F0&from=-1", "document?run=0&name=../corpuscope.toml&block=0", "document?run=0&name=/etc/passwd&block=0",
    "document?run=0&name=d01.md&block=99", "document?run=0&name=d01.md&block=0&form=structured", "document?run=0&name=%00&block=0",
    "document?run=0&name=d01.md&block=0&form=other", "grep?run=0&question=x&call=1&pattern=x", "grep?run=0&question=q%252F0&call=1&pattern=(",
    "grep?run=0&question=q%252F0&call=1&pattern=", "grep?run=x&question=q%252F0&call=1&pattern=x",
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE)
def test_what_is_not_there_is_refused_in_words(shelf: Shelf, ask: Ask, path: str) -> None:
    answer = ask(shelf, path, whole=True)
    assert answer.status_code == 400 and answer.json()["error"], path
    assert "root:" not in answer.text


def test_only_what_is_offered(shelf: Shelf, ask: Ask) -> None:
    for path in ("/run.toml", "/static/main.js", "/../../etc/passwd", "/api/", "nothing", "/docs"):
        assert ask(shelf, path, whole=True).status_code == 404, path


@pytest.mark.parametrize(
    ("host", "is_one"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False), ("example.org", False),
     ("192.168.0.1", False), ("", False)],
)  # fmt: skip
def test_what_is_this_machine_alone(host: str, is_one: bool) -> None:
    assert is_loopback(host) is is_one


def test_events_from_where_one_was(shelf: Shelf, ask: Ask, run: Run) -> None:
    whole = (run.folder / "queries/q%2F0/events.jsonl").read_bytes()
    first = ask(shelf, "events?run=0&question=q%252F0", whole=True)
    assert first.content == whole and first.headers["x-next"] == str(len(whole)) and first.headers["x-live"] == "0"
    line = whole.index(b"\n") + 1
    assert ask(shelf, f"events?run=0&question=q%252F0&from={line}", whole=True).content == whole[line:]
    assert ask(shelf, f"events?run=0&question=q%252F0&from={len(whole)}", whole=True).content == b""
    (run.folder / "queries/q%2F0/events.jsonl").open("ab").write(b'{"type":"half')
    assert ask(shelf, f"events?run=0&question=q%252F0&from={len(whole)}", whole=True).content == b""


def test_nothing_is_written(shelf: Shelf, ask: Ask, run: Run) -> None:
    """Looking changes no file of a run, and the workspaces it makes go."""

    def files() -> dict[Path, tuple[int, int]]:
        return {file: (file.stat().st_size, file.stat().st_mtime_ns) for file in run.folder.rglob("*") if file.is_file()}  # fmt: skip

    before = files()
    for path in (
        "runs",
        "questions?run=0",
        "marks?run=0&question=q%252F0",
        "grep?run=0&question=q%252F0&call=2&pattern=thing",
    ):
        ask(shelf, path)
    assert files() == before
