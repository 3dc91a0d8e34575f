"""A model server whose replies are written down, in the providers' protocols, so that our real client path runs."""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import threading
from collections.abc import Sequence
from typing import Any

Step = dict[str, Any]


def call(name: str, arguments: Any, id: str = "") -> Step:
    """A tool call; `arguments` that are text go out as they are, right or wrong."""
    return {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments), "id": id}


class ScriptedServer:
    """Replies with `steps` in order, the last for ever. Use as a context manager.

    A step has `calls` (of `call`), `text`, `reasoning`, `logprobs`, `usage` (None leaves it out), or `status` with `error` and
    `headers`, or `cut` (the connection breaks in mid-reply), or `slow` (seconds before the reply).
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = list(steps)
        self.requests: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        """What clients sent as theirs."""
        self._lock = threading.Lock()
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each reply waits for a delayed acknowledgement

            def log_message(self, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                if (other := server.other("GET", self.path, b"")) is not None:
                    self._send(*other)
                    return
                self._send(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                server.keys.add(self.headers.get("Authorization", ""))
                if (other := server.other("POST", self.path, raw)) is not None:
                    self._send(*other)
                    return
                body = json.loads(raw)
                step, number = server.next_step(body)
                if step.get("slow"):
                    threading.Event().wait(step["slow"])
                if "status" in step:
                    self._send(
                        step["status"], {"error": step.get("error", {"message": "scripted"})}, step.get("headers", {})
                    )
                elif step.get("cut"):
                    self.send_response(200)
                    self.send_header("Content-Length", "1000")
                    self.end_headers()
                    self.wfile.write(b'{"id": "x", "choi')
                    self.wfile.flush()
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                else:
                    path = self.path.split("?")[0]
                    speak = next((f for end, f in PROTOCOLS.items() if path.endswith(end)), reply)
                    if path.endswith("/completions") and "/chat/" not in path:
                        speak = completion_reply
                    value = speak(step, number, body)
                    if not body.get("stream"):
                        self._send(200, value)
                    elif speak is anthropic_reply:
                        self._stream(
                            [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in anthropic_events(value)]
                        )
                    else:
                        self._stream([*(f"data: {json.dumps(c)}\n\n" for c in chat_chunks(value)), "data: [DONE]\n\n"])

            def _send(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, text in (headers or {}).items():
                    self.send_header(name, text)
                self.end_headers()
                with contextlib.suppress(OSError):  # the client was killed meanwhile
                    self.wfile.write(data)

            def _stream(self, lines: Sequence[str]) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write("".join(lines).encode())
                self.close_connection = True

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # A client that is killed in mid-request is what some tests are about.
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self._server.daemon_threads = True

    def next_step(self, body: dict[str, Any]) -> tuple[Step, int]:
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
            return self.steps[min(number, len(self.steps) - 1)], number

    def other(self, method: str, path: str, body: bytes) -> tuple[int, Any] | None:
        """(status, JSON value or bytes) for what is no request to a model: a batch API, say."""
        return None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ScriptedServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class ByHistory(ScriptedServer):
    """Chooses the reply by how many tool results the request holds: asked again, it repeats itself."""

    def next_step(self, body: dict[str, Any]) -> tuple[Step, int]:
        with self._lock:
            self.requests.append(body)
        turns = sum(message["role"] == "assistant" for message in body["messages"])
        return self.steps[min(turns, len(self.steps) - 1)], turns


def reply(step: Step, number: int, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": step.get("text")}
    if "reasoning" in step:
        message["reasoning_content"] = step["reasoning"]
    if calls := step.get("calls"):
        message["tool_calls"] = [
            {
                "id": c["id"] or f"call_{number}_{i}",
                "type": "function",
                "function": {"name": c["name"], "arguments": c["arguments"]},
            }
            for i, c in enumerate(calls)
        ]
    value: dict[str, Any] = {
        "id": f"reply-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if step.get("calls") else "stop"}],
    }
    if "logprobs" in step:
        value["choices"][0]["logprobs"] = {"content": step["logprobs"]}
    usage = step.get("usage", {"prompt_tokens": 100, "completion_tokens": 10})
    if usage is not None:
        value["usage"] = {"total_tokens": usage["prompt_tokens"] + usage["completion_tokens"], **usage}
    return value


def completion_reply(step: Step, number: int, body: dict[str, Any]) -> dict[str, Any]:
    """OpenAI's first protocol: a text that goes on."""
    return {
        "id": f"reply-{number}", "object": "text_completion", "created": 0, "model": body["model"],
        "choices": [{"index": 0, "text": step["text"], "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }  # fmt: skip


def chat_chunks(value: dict[str, Any]) -> list[dict[str, Any]]:
    """A chat reply as a stream: the message as one chunk, its finish as the second, usage as the third."""
    choice = value["choices"][0]
    delta = dict(choice["message"])
    delta["tool_calls"] = [{"index": i, **c} for i, c in enumerate(delta.get("tool_calls", []))]
    head: dict[str, Any] = {k: value[k] for k in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
        {"choices": [], "usage": value.get("usage")},
    ]
    return [head | chunk for chunk in chunks]


def anthropic_events(value: dict[str, Any]) -> list[dict[str, Any]]:
    """A message as a stream: each block opened, filled by one delta, closed."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**value, "content": [], "stop_reason": None}},
    ]
    for index, block in enumerate(value["content"]):
        if block["type"] == "text":
            empty, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        elif block["type"] == "thinking":
            empty = {**block, "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": block["thinking"]},
                      {"type": "signature_delta", "signature": block["signature"]}]  # fmt: skip
        else:
            empty = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": value["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": value["usage"]["output_tokens"]}
    return [*events, {"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]


def anthropic_reply(step: Step, number: int, body: dict[str, Any]) -> dict[str, Any]:
    """Anthropic's Messages."""
    content: list[dict[str, Any]] = []
    if "reasoning" in step:
        content.append({"type": "thinking", "thinking": step["reasoning"], "signature": f"signed-{number}"})
    if step.get("text"):
        content.append({"type": "text", "text": step["text"]})
    for i, c in enumerate(step.get("calls", [])):
        content.append(
            {"type": "tool_use", "id": f"toolu_{number}_{i}", "name": c["name"], "input": json.loads(c["arguments"])}
        )
    return {
        "id": f"msg-{number}", "type": "message", "role": "assistant", "model": body["model"], "content": content,
        "stop_reason": "tool_use" if step.get("calls") else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 40, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 10, "output_tokens": 10},
    }  # fmt: skip


def responses_reply(step: Step, number: int, body: dict[str, Any]) -> dict[str, Any]:
    """OpenAI's Responses."""
    output: list[dict[str, Any]] = []
    if "reasoning" in step:
        summary = [{"type": "summary_text", "text": step["reasoning"]}]
        output.append({"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": "sealed"})
    if step.get("text"):
        text = {"type": "output_text", "text": step["text"], "annotations": []}
        output.append(
            {"type": "message", "id": f"m_{number}", "role": "assistant", "status": "completed", "content": [text]}
        )
    for i, c in enumerate(step.get("calls", [])):
        output.append({"type": "function_call", "id": f"fc_{number}_{i}", "call_id": f"call_{number}_{i}", "name": c["name"],
                       "arguments": c["arguments"], "status": "completed"})  # fmt: skip
    usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 50, "cache_write_tokens": 0},
             "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 110}  # fmt: skip
    return {
        "id": f"resp_{number}", "object": "response", "created_at": 0, "model": body["model"], "status": "completed",
        "output": output, "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "temperature": 1, "top_p": 1,
    }  # fmt: skip


PROTOCOLS = {"/messages": anthropic_reply, "/responses": responses_reply}
"""The end of a path -> who speaks there; elsewhere it is OpenAI's chat."""


ANSWER: Step = {
    "text": "Explanation: Cats sit [cats.md:3-4].\nExact Answer: the mat\nConfidence: 80%",
}
