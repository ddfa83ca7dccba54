"""The control store: versions of the authority, credentials and settings."""

from discreet.guard.control.control import ControlStore
from discreet.guard.control.documents import Documents
from discreet.guard.control.versions import AuthorityVersion

__all__ = ["AuthorityVersion", "ControlStore", "Documents"]
