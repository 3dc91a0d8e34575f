"""Experiments of several runs: a corpus that grows by distractors, and a system in all combinations of some choices."""

from __future__ import annotations

import itertools
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import tomli_w

from ..corpus import Corpus, SourceSettings, write_whole
from ..errors import SetupError, UsageError
from ..systems import System


def scaled(
    corpus: Corpus,
    distractors: Corpus,
    times: float,
    seed: int,
    folder: Path,
    progress: Callable[[int, int | None], None] = lambda done, total: None,
) -> Corpus:
    """`corpus` with seeded distractors, `times` as many documents in all; kept in `folder` and only brought up to date there.

    Raises `UsageError` where `distractors` has too few documents, or `times` is below 1.
    """
    if times < 1:
        raise UsageError(f"{times:g} times the corpus: it is at least 1, for distractors are only added")
    mixture = {
        "base": os.path.relpath(corpus.root, folder), "distractors": os.path.relpath(distractors.root, folder),
        "documents": round(len(corpus) * (times - 1)), "seed": seed,
    }  # fmt: skip
    source = folder / f"{times:g}x.toml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(source, tomli_w.dumps(mixture))
    except OSError as error:
        raise SetupError(f"cannot write to {folder} ({error.strerror})") from error
    settings = SourceSettings(format="mixture")
    made, _ = Corpus.build(source, folder / f"{times:g}x.corpus", settings, language=corpus.language, progress=progress)
    return made


def grid(system: System, variations: Mapping[str, Sequence[object]]) -> dict[str, System]:
    """name -> system, one for each combination; the name says what differs. Raises `UsageError` for what does not fit."""
    found = {}
    for values in itertools.product(*variations.values()):
        choices = dict(zip(variations, values, strict=True))
        name = ",".join(f"{key}={value}" for key, value in choices.items())
        found[name] = system.changed(**choices)
    return found


def variations(told: Sequence[str]) -> dict[str, list[object]]:
    """`KEY=VALUE,VALUE` as typed. Values are TOML where they can be, else words. Raises `UsageError` for a key no system has."""
    found: dict[str, list[object]] = {}
    for text in told:
        key, equals, values = text.partition("=")
        if not equals or not values or key not in System.model_fields or key in ("name", "prompt", "description"):
            choices = [name for name in System.model_fields if name not in ("name", "prompt", "description")]
            raise UsageError(f"--vary {text}: it is KEY=VALUE,VALUE with a KEY of {', '.join(choices)}")
        found.setdefault(key, []).extend(map(_value, values.split(",")))
    return found


def _value(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
