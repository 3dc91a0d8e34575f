"""Named compositions: one TOML each, and what runs a question through one."""

from .ask import ask, ask_async, default_run_folder
from .run import Run, query_id, result_json
from .system import System, Task, default_system, load_system, presets
from .tools import open_tools, open_workspace

__all__ = [
    "Run",
    "System",
    "Task",
    "ask",
    "ask_async",
    "default_run_folder",
    "default_system",
    "load_system",
    "open_tools",
    "open_workspace",
    "presets",
    "query_id",
    "result_json",
]
