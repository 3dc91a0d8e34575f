"""The peer of the n-gram index: a trigram field in tantivy, a document a file, as `Corpus` stores them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import tantivy

from corpuscope import Corpus


def main(corpus_folder: str, into: str) -> None:
    Path(into).mkdir(parents=True)
    analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.ngram(3, 3)).filter(tantivy.Filter.lowercase()).build()
    schema = tantivy.SchemaBuilder()
    schema.add_unsigned_field("key", fast=True)
    schema.add_text_field("grams", tokenizer_name="grams", index_option="basic")
    index = tantivy.Index(schema.build(), path=into)
    index.register_tokenizer("grams", analyzer)
    started = time.process_time()
    writer = index.writer(heap_size=512 << 20)
    with Corpus.open(corpus_folder) as corpus:
        for entry in corpus.manifest.changed_since(0):
            text = corpus.store.read(entry.path).decode()
            document = tantivy.Document(grams=text)
            document.add_unsigned("key", entry.key)
            writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    print(json.dumps({"cpu": time.process_time() - started}))


if __name__ == "__main__":
    main(*sys.argv[1:])
