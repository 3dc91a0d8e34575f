"""A policy of one step in the place of a language model: the ranking that the search has for the question."""

from __future__ import annotations

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from .ranking import HEADER

RANKER = "ranker"


def ranker_model() -> Model:
    return FunctionModel(_rank, model_name=RANKER)


async def _rank(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Search for the question as it stands, then hand the documents on."""
    results = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if isinstance(messages[-1], ModelRequest) and results:
        docids = [docid for query in (results[0].metadata or {}).get("queries", []) for docid in query["top"]]
        text = "\n".join([HEADER, *(f"{rank}. {docid}" for rank, docid in enumerate(docids, 1))])
        part: TextPart | ToolCallPart = TextPart(text)
    else:
        parts = (part for message in messages for part in message.parts)
        question = next(str(part.content) for part in parts if isinstance(part, UserPromptPart))
        part = ToolCallPart("search", {"query": question}, "ranker-0-0")
    return ModelResponse(parts=[part], usage=RequestUsage(), model_name=RANKER)
