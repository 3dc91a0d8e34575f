"""From text to terms: stemmed words of one language, and bigrams of scripts that put no spaces between words."""

from __future__ import annotations

import os
import re
import unicodedata
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tantivy

LANGUAGES = (
    "english", "arabic", "danish", "dutch", "finnish", "french", "german", "greek", "hungarian", "italian",
    "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "tamil", "turkish", "none",
)  # fmt: skip
"""Languages with a stemmer; `none` leaves words as they are."""

_NO_STOP_WORDS = ("arabic", "greek", "romanian", "tamil", "turkish", "none")

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u30ff\u3131-\u318e"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Runs of Thai, Lao, Burmese, Khmer, Hangul, Kana and Han. Korean has spaces, but particles cling to its words."""

_MAX_WORD_BYTES = 64
"""Longer runs of letters are encoded data, not words."""


def normalize(text: str) -> str:
    """One form for the many ways of writing the same text (ligatures, full-width letters, composed accents)."""
    if text.isascii():
        return text
    # What a model types may hold lone surrogates, which no encoder takes.
    return unicodedata.normalize("NFKC", text).encode(errors="replace").decode()


def unspaced_runs(text: str) -> list[str]:
    """The runs of unspaced script in a normalised text."""
    return [] if text.isascii() else _UNSPACED.findall(text)


def searchable(query: str) -> bool:
    """Whether there is any letter or digit to search for."""
    return any(map(str.isalnum, query))


class Analysis:
    """The analysers of one language. The index, its queries and the snippets must share them."""

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise ValueError(f"no stemmer for {language!r}")
        self.language = language

    @cached_property
    def words(self) -> tantivy.TextAnalyzer:
        return self._analyzer(stop_words=False)

    @cached_property
    def _content_words(self) -> tantivy.TextAnalyzer:
        return self._analyzer(stop_words=True)

    @cached_property
    def bigrams(self) -> tantivy.TextAnalyzer:
        import tantivy

        return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.ngram(1, 2)).build()

    def query_words(self, query: str) -> list[str]:
        """Stemmed terms of `query` in order, without stop words unless there is nothing else."""
        text = normalize(query)
        return self._content_words.analyze(text) or self.words.analyze(text)

    def query_bigrams(self, query: str) -> list[str]:
        """Bigrams of the unspaced runs; a run of one character is itself."""
        return [run[i : i + 2] for run in unspaced_runs(normalize(query)) for i in range(max(1, len(run) - 1))]

    def stems(self, query: str) -> list[str]:
        """Lower-case word beginnings under which the terms of `query` stand in a text, each once."""
        text = normalize(query)
        found: dict[str, None] = {}
        for word in re.findall(r"\w+", _UNSPACED.sub(" ", text).lower()):
            # A stemmer may also rewrite the ending (query -> queri): what word and stem share is in the text.
            for stem in self._content_words.analyze(word):
                found[os.path.commonprefix([word, stem]) or word] = None
        found.update(dict.fromkeys(self.query_bigrams(query)))
        return list(found) or re.findall(r"\w+", text.lower())

    def _analyzer(self, *, stop_words: bool) -> tantivy.TextAnalyzer:
        import tantivy

        build = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        build = build.filter(tantivy.Filter.remove_long(_MAX_WORD_BYTES)).filter(tantivy.Filter.lowercase())
        if stop_words and self.language not in _NO_STOP_WORDS:
            build = build.filter(tantivy.Filter.stopword(self.language))
        if self.language == "english":
            build = build.filter(tantivy.Filter.ascii_fold())
        if self.language != "none":
            build = build.filter(tantivy.Filter.stemmer(self.language))
        return build.build()
