"""The control store: the authority's versions, credentials and settings, in a file or on a server."""

from discreet.guard.control.control import Control
from discreet.guard.control.documents import Documents
from discreet.guard.control.versions import Version

__all__ = ["Control", "Documents", "Version"]
