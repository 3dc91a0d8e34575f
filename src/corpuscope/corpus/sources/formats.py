"""One generator a file format: a path in, rows out, nothing held but the row at hand."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import SetupError, UsageError
from ..document import Skipped
from ..text import to_utf8


@dataclass(frozen=True, slots=True)
class Row:
    """`line` is 1-based: where in its file the row starts (its number, in Parquet)."""

    line: int
    values: dict[str, Any]


@contextmanager
def _lines(file: Path) -> Iterator[Iterator[bytes]]:
    """The lines of a file, ended by LF and nothing else; UTF-16 with its mark comes as UTF-8."""
    with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as raw:
        mark = raw.read(2)
        raw.seek(0)
        if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            text = io.TextIOWrapper(raw, "utf-16", errors="replace", newline="\n")
            yield (line.encode() for line in text)
        else:
            yield iter(raw)


def _decode(line: bytes) -> str:
    converted = to_utf8(line)
    return converted[0].decode() if converted else line.decode(errors="replace")


def read_jsonl(file: Path) -> Iterator[Row | Skipped]:
    """JSON objects, one a line; blank lines are nothing."""
    with _lines(file) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                values = json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                yield Skipped(str(number), f"not JSON ({str(error).split(':')[0]})", bad=True)
                continue
            if isinstance(values, dict):
                yield Row(number, values)
            else:
                yield Skipped(str(number), f"a JSON {type(values).__name__}, not an object", bad=True)


def read_csv(file: Path, delimiter: str) -> Iterator[Row | Skipped]:
    """CSV or TSV whose first row names the fields."""
    csv.field_size_limit(sys.maxsize)
    with _lines(file) as lines:
        reader = csv.reader((_decode(line) for line in lines), delimiter=delimiter)
        names = next(reader, [])
        if len(set(names)) != len(names):
            raise UsageError(f"{file}: the first row must name each field once; it is {names}")
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield Skipped(str(line), f"not a row ({error})", bad=True)
                continue
            if len(cells) == len(names):
                yield Row(line, dict(zip(names, cells, strict=True)))
            elif cells:
                yield Skipped(str(line), f"{len(cells)} cells under {len(names)} names", bad=True)


def read_parquet(file: Path) -> Iterator[Row | Skipped]:
    """Rows of a Parquet file, a batch of 1,024 at a time."""
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError as error:
        raise SetupError("Parquet needs the extra: pip install 'corpuscope[parquet]'") from error
    try:
        table = parquet.ParquetFile(file)
    except ArrowInvalid as error:
        raise UsageError(f"{file} is not a Parquet file: {error}") from error
    number = 0
    for batch in table.iter_batches(batch_size=1024):
        for values in batch.to_pylist():
            number += 1
            yield Row(number, values)


_TAG = re.compile(r"</?[A-Za-z][^>]*>")
_TEXT = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(r"<(TITLE|HEADLINE|HEAD|TI|HL)\b[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_DOCNO = re.compile(r"<DOCNO>\s*(.*?)\s*</DOCNO>", re.DOTALL | re.IGNORECASE)


def read_trec(file: Path) -> Iterator[Row | Skipped]:
    """`<DOC>` ... `</DOC>` records of TREC's SGML, streamed a line at a time."""
    with _lines(file) as lines:
        start, held = 0, list[str]()
        for number, raw in enumerate(lines, 1):
            line = _decode(raw)
            if line.strip().upper() == "<DOC>":
                if held:
                    yield Skipped(str(start), "<DOC> without </DOC>", bad=True)
                start, held = number, [line]
            elif held:
                held.append(line)
                if line.strip().upper().endswith("</DOC>"):
                    yield _trec_row(start, "".join(held))
                    held = []
        if held:
            yield Skipped(str(start), "<DOC> without </DOC>", bad=True)
        elif not start:
            yield Skipped("1", "no <DOC> in this file")


def _trec_row(line: int, record: str) -> Row:
    docno, title = _DOCNO.search(record), _TITLE.search(record)
    parts = _TEXT.findall(record) or [_DOCNO.sub("", record)]
    text = "\n".join(_TAG.sub("", part).strip("\n") for part in parts).strip("\n")
    heading = " ".join(_TAG.sub("", title[2]).split()) if title else ""
    return Row(line, {"docno": docno[1] if docno else "", "title": heading, "text": text + "\n" if text else ""})
