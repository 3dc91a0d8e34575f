"""Named compositions: one TOML each, and what runs a question through one."""

from typing import TYPE_CHECKING

from ..lazy import lazily
from .system import System, Task, default_system, load_system, presets
from .tools import indexes, open_tools, open_workspace

if TYPE_CHECKING:
    from .answering import answer_question, model_name, model_of
    from .asking import ask, ask_async, default_run_folder
    from .run import Run, folder_name, query_id, result_json

__getattr__ = lazily(
    __name__,
    {
        "Run": ".run", "answer_question": ".answering", "model_name": ".answering", "model_of": ".answering", "ask": ".asking", "ask_async": ".asking", "default_run_folder": ".asking", "folder_name": ".run", "query_id": ".run",
        "result_json": ".run",
    },
)  # fmt: skip

__all__ = [
    "Run", "System", "Task", "answer_question", "ask", "ask_async", "default_run_folder", "default_system", "folder_name", "indexes", "load_system", "model_name", "model_of", "open_tools",
    "open_workspace", "presets", "query_id", "result_json",
]  # fmt: skip
