"""The trajectory viewer: runs, questions, trajectories and workspaces as a page, served or in one file."""

from .answers import Shelf
from .app import is_loopback, viewer_app
from .export import exported

__all__ = ["Shelf", "exported", "is_loopback", "viewer_app"]
