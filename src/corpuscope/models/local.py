"""Small models that run in this process, by the library sentence-transformers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import SetupError

Model = TypeVar("Model")


def local_library() -> Any:
    """The module `sentence_transformers`. Raises `SetupError` where it is not installed."""
    # Progress bars of a library would stand in the middle of ours.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        import sentence_transformers
    except ImportError as error:
        raise SetupError("a local model needs its library: pip install 'corpuscope[local]'") from error
    import transformers

    transformers.utils.logging.disable_progress_bar()
    return sentence_transformers


def local_model(kind: Callable[[Any], Callable[[str], Model]], name: str) -> Model:
    """The model of that name or folder, as `kind(library)(name)` opens it. Raises `SetupError` for one that cannot be had."""
    library = local_library()
    try:
        return kind(library)(name)
    except (OSError, ValueError) as error:
        said = " ".join(str(error).split())[:300]
        raise SetupError(
            f"cannot open the local model {name!r} ({said}); give its name on the Hub or its folder"
        ) from error
