"""What a tool is: a name, a schema, and a call that turns arguments into an observation."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from ...errors import ToolError


class MalformedCall(ToolError):
    """The call itself cannot be understood: no such tool, no JSON, fields missing or of the wrong kind (case M2)."""


@dataclass(frozen=True, slots=True)
class Observation:
    """`text` goes to the model; `data` (plain JSON values) to metrics and viewer, so that nobody parses prose."""

    text: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tool:
    """`arguments` is the pydantic model of the call; its JSON schema is what the provider is shown.

    `leaves_something(data)`: whether the call of this record left what later calls may need; a resumed run makes it again.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[Any], Awaitable[Observation]]
    leaves_something: Callable[[Mapping[str, Any]], bool] = lambda data: False

    @property
    def schema(self) -> dict[str, Any]:
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        schema.pop("description", None)
        for field_schema in schema["properties"].values():
            field_schema.pop("title", None)
        return schema

    async def call(self, arguments: str | Mapping[str, Any] | None) -> Observation:
        """Run with arguments as the model typed them (JSON text or an object).

        Raises `MalformedCall`, or the tool's own `ToolError`; both say how to repair the call.
        """
        return await self.run(self._parse(arguments))

    def _parse(self, arguments: str | Mapping[str, Any] | None) -> BaseModel:
        values: Any = arguments or {}
        if isinstance(values, str):
            try:
                values = json.loads(values)
            except ValueError as error:
                raise MalformedCall(f"the arguments of {self.name} are not JSON ({error}); {self._usage()}") from error
        if not isinstance(values, Mapping):
            raise MalformedCall(f"the arguments of {self.name} must be a JSON object; {self._usage()}")
        try:
            return self.arguments.model_validate(values)
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg'].lower()}" for e in error.errors()[:4]
            )
            raise MalformedCall(f"wrong arguments for {self.name} ({wrong}); {self._usage()}") from error

    def _usage(self) -> str:
        shown = {
            name: spec.get("examples", [spec.get("default", "...")])[0]
            for name, spec in self.schema["properties"].items()
        }
        return f"call it again like this: {json.dumps(shown, ensure_ascii=False)}"
