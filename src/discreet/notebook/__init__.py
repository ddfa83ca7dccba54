"""What a notebook loads: questions as cells, and the verbs of discreet on data frames."""

from discreet.notebook.accessors import register_accessors
from discreet.notebook.magics import load_ipython_extension

__all__ = ["load_ipython_extension", "register_accessors"]
