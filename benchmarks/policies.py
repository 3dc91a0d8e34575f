"""One scripted trajectory of a hundred calls under each context policy: what is sent, what a cache could have had, and money."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from genai_prices import Usage, calc_price
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from corpuscope import Corpus, Workspace
from corpuscope.agent import POLICIES
from corpuscope.agent.context import Policy, Prefix, Pressure
from corpuscope.agent.summary import question as summary_question
from corpuscope.systems import load_system
from corpuscope.workspace import dci_tools

from .measure import Row

MODEL = "gpt-5.4-mini"
CALLS = 100
CHARACTERS_PER_TOKEN = 4
SUMMARY = "x" * 4_000
WORDS = ("session", "cache", "middleware", "migration", "queryset", "template", "signal", "locale", "csrf", "admin")


def measure(django_corpus: Path) -> list[Row]:
    with Corpus.open(django_corpus) as corpus, Workspace(corpus, whole=True) as workspace:
        history = asyncio.run(trajectory(workspace))
    sent = {name: cost(history, policy) for name, policy in POLICIES.items()}
    base = sent["level0"]
    return [
        Row(
            f"policy {name}, {CALLS} calls: money at list prices, against level0 ({tokens:,} tokens, {cached / tokens:.0%} cached)",
            f"${money:.3f}", f"${base[2]:.3f}", money / base[2],
        )
        for name, (tokens, cached, money) in sent.items()
    ]  # fmt: skip


async def trajectory(workspace: Workspace) -> list[ModelMessage]:
    """Real commands on real documents, of the kind and size that DCI's agents send."""
    bash = dci_tools(workspace)["bash"]
    prompt = load_system("dci-lite").prompt
    messages: list[ModelMessage] = [ModelRequest([SystemPromptPart(prompt), UserPromptPart("Which release ...?")])]
    for number in range(CALLS):
        word = WORDS[number % len(WORDS)]
        command = f"rg -n -i -C 2 '{word}' | head -{40 + 7 * number % 200}" if number % 3 else f"rg -c -i '{word}'"
        seen = await bash.call({"command": command})
        messages.append(ModelResponse([ToolCallPart("bash", {"command": command}, str(number))]))
        messages.append(ModelRequest([ToolReturnPart("bash", seen.text, str(number))]))
    return messages


def cost(history: list[ModelMessage], policy: Policy) -> tuple[int, int, float]:
    """(tokens sent, of which a cache could have had, dollars) over all requests of the trajectory, summaries included."""
    pressure, prefix = Pressure(), Prefix()
    total = cached = 0
    for end in range(1, len(history), 2):
        kept = policy(history[:end], pressure)
        if upto := kept.wants_summary:
            older = kept.messages[: len(kept.messages) - (end - upto)]
            total += len(ModelMessagesTypeAdapter.dump_json([summary_question(older)]))
            pressure = replace(pressure, summary=SUMMARY, upto=upto)
            kept = policy(history[:end], pressure)
        sent, same = prefix.sent(kept.messages)
        total, cached = total + sent, cached + same
    tokens, cached = total // CHARACTERS_PER_TOKEN, cached // CHARACTERS_PER_TOKEN
    usage = Usage(input_tokens=tokens, cache_read_tokens=cached)
    return tokens, cached, float(calc_price(usage, MODEL, provider_id="openai").total_price)
