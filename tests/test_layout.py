"""Imports go one way, and through front doors."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import corpuscope

ROOT = Path(corpuscope.__file__).parent
ROOMS = (
    "corpus", "models", "structure", "retrieve", "workspace", "bridges", "agent", "systems", "bench", "serve", "commands",
)  # fmt: skip
"""In the order of the arrows: a room may import what stands before it."""


def imports(file: Path) -> list[tuple[str, ...]]:
    """Absolute module paths below `corpuscope` that a file imports."""
    package = file.relative_to(ROOT).with_suffix("").parts
    package = package[:-1]
    found: list[tuple[str, ...]] = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            module = (*base, *(node.module.split(".") if node.module else ()))
            found += [module] if node.module else [(*module, alias.name) for alias in node.names]
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_imports_one_to_its_right_or_past_a_front_door(room: str) -> None:
    for file in (ROOT / room).rglob("*.py"):
        for module in imports(file):
            if module and module[0] in ROOMS and module[0] != room:
                assert ROOMS.index(module[0]) < ROOMS.index(room), f"{file} imports {module}"
                assert len(module) == 1, f"{file} imports {'.'.join(module)} past its front door"


def test_what_a_room_exports_exists() -> None:
    import importlib

    for room in ROOMS:
        module = importlib.import_module(f"corpuscope.{room}")
        assert all(hasattr(module, name) for name in getattr(module, "__all__", ()))
    assert all(hasattr(corpuscope, name) for name in corpuscope.__all__)
