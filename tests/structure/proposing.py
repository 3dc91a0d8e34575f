"""A provider that proposes sections, at once or in batches, and fails as it is told to."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

from ..scripted import ScriptedServer, Step, anthropic_reply, responses_reply

USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}
DOCUMENT = re.compile(r"<document>\n(?P<text>.*)\n</document>", re.DOTALL)


def essay(name: str, sections: int = 3, *, size: int = 300) -> str:
    """A document without any heading, whose sections begin with `name tells of part N`."""
    filler = "and so on without end " * (size // 22)
    return "\n".join(f"{name} tells of part {n} first, {filler}." for n in range(sections)) + "\n"


def proposal(text: str) -> str:
    """What a good model says about an essay."""
    entries = [
        {"title": f"Part {match[2]}", "description": f"{match[1]} and its part.", "anchor": match[0]}
        for match in re.finditer(r"(\w+) tells of part (\d+) first", text)
    ]
    return json.dumps({"sections": entries})


def said(body: dict[str, Any]) -> str:
    """All words of a request, whatever the provider."""
    return json.dumps(body.get("messages") or body.get("input"), ensure_ascii=False)


class ProposingServer(ScriptedServer):
    """Proposes by `proposal`; `fails` maps the number of a request to the step that it gets instead."""

    def __init__(self, fails: dict[int, Step] | None = None, *, always: Step | None = None) -> None:
        super().__init__([])
        self.fails, self.always = fails or {}, always

    def next_step(self, body: dict[str, Any]) -> tuple[Step, int]:
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
        if self.always is not None:
            return self.always, number
        good: Step = {"text": proposal(_document(body)), "usage": USAGE}
        return good | self.fails.get(number, {}), number


def _document(body: dict[str, Any]) -> str:
    words = json.dumps(body, ensure_ascii=False)
    return words.encode().decode("unicode_escape", errors="replace") if "\\n" in words else words


class BatchServer(ProposingServer):
    """OpenAI's and Anthropic's batch APIs. A batch ends after `looks` looks at it.

    `outcomes(number, line)` says what becomes of the requests of a batch: "ok", "error", "expired", "bad", "missing".
    """

    def __init__(self, *, looks: int = 1, outcome: Any = None, refuse: int = 0) -> None:
        super().__init__()
        self.looks, self.refuse = looks, refuse
        self.outcome = outcome or (lambda batch, line: "ok")
        self.files: dict[str, bytes] = {}
        self.batches: list[dict[str, Any]] = []
        self.guard = threading.Lock()

    def other(self, method: str, path: str, body: bytes) -> tuple[int, Any] | None:
        with self.guard:
            if "/batches" in path:
                return self._batches(method, path, body)
            if "/files" in path:
                return self._files(method, path, body)
        return None

    def _files(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        if method == "POST":
            name = f"file-{len(self.files)}"
            self.files[name] = body[body.index(b'{"custom_id"') : body.rindex(b"}") + 1]
            return 200, {
                "id": name,
                "object": "file",
                "bytes": 1,
                "created_at": 0,
                "filename": "b",
                "purpose": "batch",
                "status": "processed",
            }
        return 200, self.files[path.split("/")[3]]

    def _batches(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        anthropic = "/messages/" in path
        if method == "POST" and self.refuse:
            self.refuse -= 1
            return 429, {"error": {"message": "slow down", "type": "rate_limit_error"}}
        if method == "POST":
            asked = json.loads(body)
            rows = asked["requests"] if anthropic else self._rows(asked["input_file_id"])
            batch = {"number": len(self.batches), "rows": rows, "looks": 0, "input": asked.get("input_file_id")}
            self.batches.append(batch)
            return 200, self._shown(batch, anthropic)
        batch = self.batches[int(re.search(r"batch_(\d+)", path)[1])]  # type: ignore[index]
        if path.endswith("/results"):
            return 200, self._anthropic_results(batch)
        batch["looks"] += 1
        return 200, self._shown(batch, anthropic)

    def _rows(self, file: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.files[file].split(b"\n")]

    def _shown(self, batch: dict[str, Any], anthropic: bool) -> dict[str, Any]:
        ended = batch["looks"] >= self.looks
        name = f"batch_{batch['number']}"
        if anthropic:
            counts = dict.fromkeys(("canceled", "errored", "expired", "processing", "succeeded"), 0)
            return {
                "id": name, "type": "message_batch", "processing_status": "ended" if ended else "in_progress",
                "request_counts": counts, "created_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-02T00:00:00Z",
                "ended_at": None, "archived_at": None, "cancel_initiated_at": None,
                "results_url": f"{self.base_url}/messages/batches/{name}/results" if ended else None,
            }  # fmt: skip
        if ended and "output" not in batch:
            batch["output"] = f"out-{batch['number']}"
            self.files[batch["output"]] = self._openai_results(batch)
        return {
            "id": name, "object": "batch", "endpoint": "/v1/responses", "input_file_id": batch["input"],
            "completion_window": "24h", "status": "completed" if ended else "in_progress", "created_at": 0,
            "output_file_id": batch.get("output"),
        }  # fmt: skip

    def _openai_results(self, batch: dict[str, Any]) -> bytes:
        lines = []
        for number, row in enumerate(batch["rows"]):
            how = self.outcome(batch["number"], number)
            value: dict[str, Any] = {"id": f"r{number}", "custom_id": row["custom_id"], "response": None, "error": None}
            if how == "missing":
                continue
            if how == "expired":
                value["error"] = {"code": "batch_expired", "message": "too late"}
            elif how == "ok":
                step: Step = {"text": proposal(_document(row["body"]))}
                value["response"] = {
                    "status_code": 200,
                    "request_id": "x",
                    "body": responses_reply(step, number, row["body"]),
                }
            else:
                code = 400 if how == "bad" else 500
                value["response"] = {"status_code": code, "request_id": "x", "body": {"error": {"message": how}}}
            lines.append(json.dumps(value))
        return "\n".join(lines).encode()

    def _anthropic_results(self, batch: dict[str, Any]) -> bytes:
        lines = []
        for number, row in enumerate(batch["rows"]):
            how = self.outcome(batch["number"], number)
            result: dict[str, Any] = {"type": "expired"}
            if how == "ok":
                step: Step = {"text": proposal(_document(row["params"]))}
                result = {"type": "succeeded", "message": anthropic_reply(step, number, row["params"])}
            elif how != "expired":
                kind = "invalid_request_error" if how == "bad" else "api_error"
                result = {"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": how}}}
            if how != "missing":
                lines.append(json.dumps({"custom_id": row["custom_id"], "result": result}))
        return "\n".join(lines).encode()
