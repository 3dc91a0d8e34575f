"""The adapter: our history of calls and results in, the text an agent was trained to go on with; its tags out as calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from openai import APIConnectionError, APIStatusError, AsyncOpenAI
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from ...errors import UsageError
from .grammar import Action, Grammar, Told

CONTINUE = {"continue_final_message": True, "add_generation_prompt": False}
"""How vLLM and SGLang are asked to go on in the last message; llama.cpp does so anyway."""

USER = "user"
"""In the place of a tool's name: a word of ours between two turns."""

_TAG = re.compile(r"<(?=\||/?(?:information|search|access|answer|think|tool_call|tool_response|s)>)")

_SENT = ("temperature", "top_p", "max_tokens", "seed", "presence_penalty", "frequency_penalty")


class TagModel(WrapperModel):
    """`wrapped` spoken to in the tags of a grammar. Stateless: every request is made from the history alone."""

    def __init__(self, grammar: Grammar, wrapped: Model) -> None:
        super().__init__(wrapped)
        if not isinstance(wrapped, OpenAIChatModel):
            raise UsageError(
                "an agent that speaks in tags needs the OpenAI-compatible server that serves it: --base-url"
            )
        self.grammar = grammar

    @property
    def profile(self) -> ModelProfile:
        """Tags are broken in what others send; here they are the model's own words, and `_tell` breaks those of documents."""
        return {**self.wrapped.profile, "may_tokenize_special_tokens_in_content": False}

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        opening, turns = _read(messages)
        forced = self.grammar.forced(turns[-1][1]) if turns and turns[-1][1] else None
        stop = forced.stop if forced else self.grammar.stop
        said, usage = await self._ask(opening, turns, stop, model_settings or {})
        said = _closed(said, stop)
        action = forced.action if forced else self.grammar.parse(said)
        parts: list[ModelResponsePart]
        if action.tool:
            number = len(turns)
            parts = [TextPart(said), ToolCallPart(action.tool, dict(action.arguments), f"tag-{number}")]
        else:
            parts = [TextPart(_answer(said, action))]
        return ModelResponse(
            parts=parts, usage=usage, model_name=self.model_name, provider_name=self.system, provider_url=self.base_url
        )

    async def _ask(
        self,
        opening: tuple[str, str],
        turns: Sequence[tuple[str, Told | None]],
        stop: tuple[str, ...],
        settings: ModelSettings,
    ) -> tuple[str, RequestUsage]:
        """What the model says next, and what it cost."""
        assert isinstance(self.wrapped, OpenAIChatModel)
        client: AsyncOpenAI = self.wrapped.client.with_options(max_retries=0)
        more: dict[str, Any] = {name: settings[name] for name in _SENT if name in settings}  # type: ignore[literal-required]
        if stop:
            more["stop"] = list(stop)
        try:
            if self.grammar.mode == "completion":
                text = self._prompt(opening) + self._transcript(turns)
                done = await client.completions.create(model=self.model_name, prompt=text, **more)
                return done.choices[0].text, _usage(done.usage)
            if self.grammar.mode == "continued":
                asked = self._continued(opening, turns)
                if turns:
                    more["extra_body"] = CONTINUE
            else:
                asked = self._dialogue(opening, turns)
            reply = await client.chat.completions.create(model=self.model_name, messages=asked, **more)
            message = reply.choices[0].message
            thought = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None) or ""
            said = f"<think>\n{thought.strip()}\n</think>\n" if thought.strip() else ""
            return said + (message.content or ""), _usage(reply.usage)
        except APIStatusError as error:
            raise ModelHTTPError(error.status_code, self.model_name, error.body) from error
        except APIConnectionError as error:
            raise ModelAPIError(self.model_name, str(error)) from error

    def _prompt(self, opening: tuple[str, str]) -> str:
        prompt, question = opening
        return prompt.replace("{question}", question)

    def _transcript(self, turns: Sequence[tuple[str, Told | None]]) -> str:
        return "".join(said + (self._tell(told) if told else "") for said, told in turns)

    def _tell(self, told: Told) -> str:
        """What came back, in its wrapping. A document that holds tags must not end the wrapping or begin a turn: a zero-width
        joiner breaks them, as it does elsewhere in requests of pydantic-ai."""
        if told.tool == USER:
            return f"\n{told.text}\n"
        return self.grammar.tell(told._replace(text=_TAG.sub("<\u200d", told.text)))

    def _continued(self, opening: tuple[str, str], turns: Sequence[tuple[str, Told | None]]) -> list[Any]:
        messages = [{"role": "system", "content": self.grammar.system}] if self.grammar.system else []
        messages.append({"role": "user", "content": self._prompt(opening)})
        if turns:
            messages.append({"role": "assistant", "content": self._transcript(turns)})
        return messages

    def _dialogue(self, opening: tuple[str, str], turns: Sequence[tuple[str, Told | None]]) -> list[Any]:
        messages = [
            {"role": "system", "content": opening[0].strip()},
            {"role": "user", "content": f"Query: {opening[1]}"},
        ]
        for said, told in turns:
            if said:
                messages.append({"role": "assistant", "content": said})
            if told and told.tool == USER:
                messages.append({"role": "user", "content": told.text})
            elif told:
                messages.append({"role": "tool", "content": self._tell(told)})
        return messages


def _read(messages: Sequence[ModelMessage]) -> tuple[tuple[str, str], list[tuple[str, Told | None]]]:
    """((prompt, question), [(what was said, what came back)]) of a history."""
    prompt = question = ""
    turns: list[tuple[str, Told | None]] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, SystemPromptPart):
                prompt = part.content
            elif isinstance(part, UserPromptPart) and not turns:
                question = str(part.content)
            elif isinstance(part, UserPromptPart):
                turns.append(("", Told(USER, str(part.content), {}, message is messages[-1])))
            elif isinstance(part, TextPart):
                turns.append((part.content, None))
            elif isinstance(part, ToolReturnPart):
                told = Told(part.tool_name, str(part.content), part.metadata or {}, message is messages[-1])
                turns[-1] = (turns[-1][0], told)
    return (prompt, question), turns


def _closed(said: str, stop: Sequence[str]) -> str:
    """What was said with the tag that stopped it: servers leave that out. What stands behind the first one is not its own."""
    ends = [said.find(tag) + len(tag) for tag in stop if tag in said]
    if ends:
        return said[: min(ends)]
    for tag in stop:
        opening = tag.replace("</", "<").replace("end_of", "begin_of")
        if opening != tag and said.rfind(opening) >= 0:
            return said + tag
    return said


def _answer(said: str, action: Action) -> str:
    """In the form of our answers, with the thoughts as the explanation."""
    return f"Explanation: {said.strip()}\nExact Answer: {action.answer}"


def _usage(usage: Any) -> RequestUsage:
    if usage is None:
        return RequestUsage()
    details = getattr(usage, "prompt_tokens_details", None)
    return RequestUsage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens or 0,
        cache_read_tokens=getattr(details, "cached_tokens", None) or 0,
    )
