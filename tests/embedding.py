"""An embedding server whose vectors anyone can work out: a random direction for each word, their sum for a text."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from .scripted import ScriptedServer, Step

DIMENSIONS = 32


@cache
def of_word(word: str) -> np.ndarray:
    chance = random.Random(word)
    return np.array([chance.gauss(0, 1) for _ in range(DIMENSIONS)])


def of_text(text: str) -> np.ndarray:
    words = re.findall(r"\w+", text.lower())
    return sum((of_word(word) for word in words), start=np.full(DIMENSIONS, 1e-3))


def cosine(a: str, b: str) -> float:
    x, y = of_text(a), of_text(b)
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


class EmbeddingServer(ScriptedServer):
    """Speaks OpenAI's embeddings, and chat by its `steps`. `failures` are (status, message, headers) of the first replies; texts longer than `longest` are refused."""

    def __init__(
        self, steps: Sequence[Step] = ({},), failures: list[tuple[int, str]] | None = None, longest: int = 1 << 30
    ) -> None:
        super().__init__(steps)
        self.failures = list(failures or [])
        self.longest = longest
        self.texts: list[str] = []

    def other(self, method: str, path: str, body: bytes) -> tuple[int, Any] | None:
        if not path.endswith("/embeddings"):
            return None
        asked = json.loads(body)
        with self._lock:
            if self.failures:
                status, message = self.failures.pop(0)
                return status, {"error": {"message": message}}
            texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
            if any(len(text) > self.longest for text in texts):
                return 400, {"error": {"message": "this model's maximum context length is exceeded"}}
            self.texts += texts
        data = [
            {"object": "embedding", "index": i, "embedding": _encoded(of_text(text), asked.get("encoding_format", ""))}
            for i, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": sum(len(text.split()) for text in texts), "total_tokens": 0}
        return 200, {"object": "list", "data": data, "model": asked["model"], "usage": usage}


def _encoded(vector: np.ndarray, form: str) -> Any:
    return base64.b64encode(vector.astype(np.float32).tobytes()).decode() if form == "base64" else vector.tolist()
