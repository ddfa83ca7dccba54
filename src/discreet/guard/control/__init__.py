"""The control store: the authority's versions, credentials and settings, in a file or on a server."""

from discreet.guard.control.control import ControlStore
from discreet.guard.control.documents import Documents
from discreet.guard.control.versions import AuthorityVersion

__all__ = ["AuthorityVersion", "ControlStore", "Documents"]
