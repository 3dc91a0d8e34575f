"""What of the history goes back to the model, by the name a system gives."""

from .frugal import frugal
from .levels import LIGHT, MAX_RESULT, level
from .policy import DEFAULT_WINDOW, PLACEHOLDER, Kept, Policy, Pressure
from .prefix import Prefix

level3 = level(MAX_RESULT, compact=True)

POLICIES: dict[str, Policy] = {
    "level0": level(None),
    "level1": level(LIGHT),
    "level2": level(MAX_RESULT),
    "level3": level3,
    "level4": level(MAX_RESULT, compact=True, summarise=True),
    "frugal": frugal,
}

__all__ = ["DEFAULT_WINDOW", "PLACEHOLDER", "POLICIES", "Kept", "Policy", "Prefix", "Pressure", "level3"]
