"""Language models that rerank, as the DCI paper's baselines do: each passage by itself (Rank1), the best of a set (Rank-R1), or a list
put into order (ReasonRank). Any model does, one trained for it or not; what it thinks before its answer is left out."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from typing import Any

from ...errors import SetupError

SET = 20
"""Passages compared by one request of `Setwise` and of `Listwise` (Rank-R1, ReasonRank)."""

STEP = 10
"""By which the window of `Listwise` moves (ReasonRank)."""

SORTED = 10
"""Places that `Setwise` finds; behind them the order stays (Rank-R1: nDCG@10 is what it is for)."""

AT_ONCE = 8
"""Requests on their way, of those that do not wait for one another."""

SECONDS = 600.0
"""For one request, with all its tries."""

_POINTWISE = """Query: {query}

Passage: {passage}

Does this passage help to answer the query? Think about what the query asks for, then end with a single word: true or false."""

_SETWISE = """Query: {query}

Passages, each with its number in brackets:

{passages}

Which one helps most to answer the query? Think about what the query asks for, then end with the number of that one alone, as \
in <answer>[3]</answer>."""

_LISTWISE = """Query: {query}

Passages, each with its number in brackets:

{passages}

Put all {count} into order by how much each helps to answer the query, best first. Think about what the query asks for, then end with \
the order alone, as in <answer>[2] > [1] > [3]</answer>."""


class _Judging:
    """What the three have in common: a model, and what it has cost."""

    def __init__(self, name: str) -> None:
        self._judge = _Judge(name)

    @property
    def dollars(self) -> float | None:
        """Paid so far by public list prices; None where they are not known."""
        return self._judge.dollars


class Pointwise(_Judging):
    """By the probability of `true` where the provider tells it, else by the word; of equals the first stays first."""

    def __call__(self, query: str, passages: Sequence[str]) -> list[int]:
        replies = self._judge.ask([_POINTWISE.format(query=query, passage=passage) for passage in passages])
        scores = [_truth(response) for response in replies]
        return sorted(range(len(passages)), key=lambda place: -scores[place])


class Setwise(_Judging):
    """A heap whose nodes have `SET` - 1 children; one request tells the best of a node and its children."""

    def __call__(self, query: str, passages: Sequence[str]) -> list[int]:
        heap = list(range(len(passages)))
        for node in reversed(range((len(heap) - 2) // (SET - 1) + 1)):
            self._sink(query, passages, heap, node)
        best: list[int] = []
        while heap and len(best) < SORTED:
            best.append(heap[0])
            last = heap.pop()
            if heap:
                heap[0] = last
                self._sink(query, passages, heap, 0)
        return best + sorted(heap)

    def _sink(self, query: str, passages: Sequence[str], heap: list[int], node: int) -> None:
        """Let a passage go down below better ones."""
        while children := list(range(node * (SET - 1) + 1, min(len(heap), (node + 1) * (SET - 1) + 1))):
            family = [node, *children]
            named = self._best(query, [passages[heap[at]] for at in family])
            chosen = min(family, key=lambda at: heap[at]) if named is None else family[named]
            if chosen == node:
                return
            heap[node], heap[chosen] = heap[chosen], heap[node]
            node = chosen

    def _best(self, query: str, passages: Sequence[str]) -> int | None:
        """The place of the best; None where the model names none, and the one that stood first counts as that."""
        (response,) = self._judge.ask([_SETWISE.format(query=query, passages=_numbered(passages))])
        named = _numbers(response, len(passages))
        return named[-1] if named else None


class Listwise(_Judging):
    """A window of `SET` passages that moves from the end to the beginning by `STEP`: the best travel with it."""

    def __call__(self, query: str, passages: Sequence[str]) -> list[int]:
        order = list(range(len(passages)))
        first = max(0, len(order) - SET)
        while True:
            window = order[first : first + SET]
            order[first : first + SET] = self._sorted(query, passages, window)
            if first == 0:
                return order
            first = max(0, first - STEP)

    def _sorted(self, query: str, passages: Sequence[str], window: list[int]) -> list[int]:
        shown = _numbered([passages[place] for place in window])
        (response,) = self._judge.ask([_LISTWISE.format(query=query, passages=shown, count=len(window))])
        named = list(dict.fromkeys(_numbers(response, len(window))))
        named += [number for number in range(len(window)) if number not in named]
        return [window[number] for number in named]


class _Judge:
    """A language model, `provider:model` or `NAME@URL`, asked from any thread."""

    def __init__(self, name: str) -> None:
        from ...models import at_server, open_model

        self.name = name
        self.dollars: float | None = 0.0
        self._model = open_model(*at_server(name))
        # Only OpenAI's chat protocol has them; a server that does not know the setting leaves it out.
        chat = type(self._model).__name__ == "OpenAIChatModel"
        self._settings: Any = {"openai_logprobs": True, "openai_top_logprobs": 5} if chat else {}

    def ask(self, prompts: Sequence[str]) -> list[Any]:
        """The responses to the prompts. Raises `SetupError` for a model that keeps failing."""
        from ...models import awaited, price

        responses = awaited(self._all(prompts))
        for cost in map(price, responses):
            self.dollars = None if cost is None or self.dollars is None else self.dollars + cost
        return responses

    async def _all(self, prompts: Sequence[str]) -> list[Any]:
        free = asyncio.Semaphore(AT_ONCE)
        return await asyncio.gather(*(self._one(prompt, free) for prompt in prompts))

    async def _one(self, prompt: str, free: asyncio.Semaphore) -> Any:
        from pydantic_ai.messages import ModelRequest
        from pydantic_ai.models import ModelRequestParameters

        from ...models import Backoff, ContextOverflow, ModelFailed, request, say_again

        async with free:
            try:
                return await request(
                    self._model, [ModelRequest.user_text_prompt(prompt)], self._settings, ModelRequestParameters(),
                    backoff=Backoff(), seconds_left=lambda: SECONDS, on_retry=say_again,
                )  # fmt: skip
            except (ContextOverflow, ModelFailed, TimeoutError) as error:
                raise SetupError(f"the reranking model {self.name} fails: {error or 'no answer in time'}") from error


def _numbered(passages: Sequence[str]) -> str:
    return "\n\n".join(f"[{number}] {passage}" for number, passage in enumerate(passages, 1))


def _answer(response: Any) -> str:
    """What a model says at last: behind its thoughts, in its tags where it uses them."""
    text: str = (response.text or "").rpartition("</think>")[2]
    tagged = re.findall(r"<answer>(.*?)(?:</answer>|$)", text, re.DOTALL | re.IGNORECASE)
    return str(tagged[-1]) if tagged else text


def _numbers(response: Any, count: int) -> list[int]:
    """Places named as [1] ... [count], from 0."""
    found = (int(number) - 1 for number in re.findall(r"\[(\d{1,6})\]", _answer(response)))
    return [place for place in found if 0 <= place < count]


def _truth(response: Any) -> float:
    """Probability of `true` against `false` at the last place where either is said; 1 or 0 where only the word is known."""
    tokens = (response.provider_details or {}).get("logprobs") or []
    for token in reversed(tokens):
        if token["token"].strip().lower() in ("true", "false"):
            chances = {"true": 0.0, "false": 0.0}
            for alternative in token["top_logprobs"] or [token]:
                if (word := alternative["token"].strip().lower()) in chances:
                    chances[word] += math.exp(alternative["logprob"])
            return chances["true"] / (sum(chances.values()) or 1.0)
    words = re.findall(r"\b(true|false)\b", _answer(response), re.IGNORECASE)
    return float(bool(words) and words[-1].lower() == "true")
