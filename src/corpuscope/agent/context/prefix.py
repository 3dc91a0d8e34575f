"""How much of each request a provider could have had in its cache: what it shares with the beginning of the one before."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter


class Prefix:
    """Remembers the last request. Messages that are the same objects are not looked at again."""

    def __init__(self) -> None:
        self._last: list[tuple[ModelMessage, bytes]] = []

    def sent(self, messages: Sequence[ModelMessage]) -> tuple[int, int]:
        """(characters of a request, of which the one before began with the same)."""
        known = {id(message): said for message, said in self._last}
        now = [(m, known.get(id(m)) or ModelMessagesTypeAdapter.dump_json([m])) for m in messages]
        same = 0
        for (_, said), (_, before) in zip(now, self._last, strict=False):
            if said != before:
                same += len(os.path.commonprefix([said, before]))
                break
            same += len(said)
        self._last = now
        return sum(len(said) for _, said in now), same
