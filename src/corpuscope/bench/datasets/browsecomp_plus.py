"""BrowseComp-Plus (Chen et al., 2025): encrypted rows, with gold and evidence documents."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from ...errors import UsageError
from ..question import Dataset, made
from .rows import question_of, read_rows

COLUMNS = ("query_id", "query", "answer", "gold_docs", "evidence_docs")


def browsecomp_plus(files: Sequence[Path], canary: str) -> Dataset:
    """The questions of the dataset's Parquet files, decrypted in memory with the canary of its authors.

    Raises `UsageError` for a missing column and for a canary that does not fit.
    """
    if not canary:
        raise UsageError("browsecomp-plus is encrypted: --canary takes the string its authors publish with it")
    questions = []
    for file in files:
        for number, row in enumerate(read_rows(file), 1):
            if missing := [column for column in COLUMNS if column not in row]:
                raise UsageError(f"{file}: no column {', '.join(missing)}; BrowseComp-Plus has {', '.join(COLUMNS)}")
            try:
                plain = {"query_id": row["query_id"]} | {name: _decrypted(row[name], canary) for name in COLUMNS[1:]}
            except (UnicodeDecodeError, binascii.Error) as error:
                raise UsageError(f"{file}, row {number}: the canary does not fit this file") from error
            questions.append(question_of(plain, f"{file}, row {number}"))
    return made("browsecomp-plus", questions, "answer", secret=True)


def _decrypted(value: Any, canary: str) -> Any:
    if isinstance(value, str):
        key = hashlib.sha256(canary.encode()).digest()
        data = base64.b64decode(value, validate=True)
        return bytes(a ^ b for a, b in zip(data, cycle(key), strict=False)).decode()
    if isinstance(value, list):
        return [_decrypted(item, canary) for item in value]
    if isinstance(value, dict):
        return {name: _decrypted(item, canary) for name, item in value.items() if name == "docid"}
    return value
