"""The peer of `corpuscope index`: walk a folder, read each file, give it to tantivy, nothing else."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import tantivy


def main(source: str, into: str) -> None:
    Path(into).mkdir(parents=True)
    analyzer = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(64))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("path", stored=True, tokenizer_name="raw")
    schema.add_text_field("body", tokenizer_name="words", index_option="freq")
    index = tantivy.Index(schema.build(), path=into)
    index.register_tokenizer("words", analyzer)
    writer = index.writer(heap_size=128 << 20)
    for folder, _, names in os.walk(source):
        for name in names:
            file = os.path.join(folder, name)
            if not os.path.isfile(file) or os.path.islink(file):
                continue
            with open(file, "rb") as opened:
                text = opened.read().decode(errors="replace")
            writer.add_document(tantivy.Document(path=file, body=text))
    writer.commit()
    writer.wait_merging_threads()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
