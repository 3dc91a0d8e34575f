"""What a run is measured by, one file a measure, each with its source and formula."""

from .calibration import calibration_error
from .citations import citation_scores
from .coverage import coverage
from .exact import exact_match, normalized, token_f1
from .localization import localization, psi, segments
from .ranking import ranking_scores

__all__ = [
    "calibration_error", "citation_scores", "coverage", "exact_match", "localization", "normalized", "psi", "ranking_scores",
    "segments", "token_f1",
]  # fmt: skip
