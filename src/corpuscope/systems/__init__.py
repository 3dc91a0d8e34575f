"""Named compositions: one TOML each, and what runs a question through one."""

from .ask import ask, ask_async, default_run_folder
from .run import Run, query_id, result_json
from .system import DEFAULT, System, load_system, presets

__all__ = [
    "DEFAULT",
    "Run",
    "System",
    "ask",
    "ask_async",
    "default_run_folder",
    "load_system",
    "presets",
    "query_id",
    "result_json",
]
