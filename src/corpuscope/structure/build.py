"""The offline pipeline (RISE, 3.2): propose, locate, insert, write; in proportion to what changed, and resumable.

Documents with headings of their own come first and cost nothing; a model is asked for the others.
"""

from __future__ import annotations

from ..corpus import Corpus, one_at_a_time
from ..errors import UsageError
from .asking import Asking, by_model
from .records import Records
from .watch import Watch
from .writing import Report, Writing


def structure(
    corpus: Corpus, asking: Asking | None = None, *, limit: int | None = None, watch: Watch | None = None
) -> Report:
    """Write `structured/` for the documents that are new or changed, at most `limit` of them.

    Without `asking`, documents without headings keep their text under an empty table; a later run with a model takes
    them up. Raises `CorpuscopeError` for what a person must repair; what is done is kept.
    """
    if not corpus.finished:
        raise UsageError(f"{corpus.root} is unfinished (its last index run was cut off); run corpuscope index again")
    watch = watch or Watch()
    with one_at_a_time(corpus.root, what="structure"):
        records = Records(corpus.root / "structured.sqlite")
        try:
            writing = Writing(corpus, records, limit)
            writing.forget_removed()
            if not (asking and asking.everywhere):
                _by_headings(writing, watch)
            if asking:
                by_model(writing, asking, watch)
            if limit is None and not writing.report.left:
                records.put("corpus", str(corpus.revision))
        finally:
            records.close()
    return writing.report


def _by_headings(writing: Writing, watch: Watch) -> None:
    total = len(writing.corpus) if writing.limit is None else min(writing.limit, len(writing.corpus))
    for count, entry in enumerate(writing.pending(lambda entry, row: False), 1):
        writing.write_own(entry, otherwise="", why="no headings")
        watch.progress(count, total)
    writing.commit()
