"""`corpuscope systems`."""

from __future__ import annotations

import json

import tomli_w

from ..errors import UsageError
from ..systems import load_system, presets


def systems_command(action: str, name: str, *, as_json: bool) -> None:
    if action not in ("", "show"):
        raise UsageError(f"corpuscope systems {action}: it is corpuscope systems, or corpuscope systems show NAME")
    if action == "show":
        if not name:
            raise UsageError(f"which system? There are {', '.join(presets())}")
        values = load_system(name).model_dump(mode="json", exclude_none=True)
        print(json.dumps(values) if as_json else tomli_w.dumps(values, multiline_strings=True).rstrip())
        return
    chosen = [load_system(preset) for preset in presets()]
    if as_json:
        print(json.dumps([{"name": system.name, "description": system.description} for system in chosen]))
        return
    width = max(len(system.name) for system in chosen)
    for system in chosen:
        print(f"{system.name:<{width}}  {system.description}")
