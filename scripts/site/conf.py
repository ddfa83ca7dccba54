"""How the documentation becomes a site: `make docs`.

The pages of `docs/` stay plain Markdown, as a reader of the repository sees them. What only a site needs is
added while it is built: the tables of contents, and where links out of `docs/` lead.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.errors import ExtensionError

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
ROOMS = (
    "tutorial",
    "how-to",
    "reference",
    "explanation",
    "attacks",
    "guard",
    "learn",
    "comparisons",
)
# A link to a file of the repository that is no page of the site.
ELSEWHERE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:bench|src|tests|[A-Z]+\.md)[^)]*\)")
FENCE = re.compile(r"^( *```)(console|text|yaml|sql|python|toml|output)[ \t]+\S.*$", re.MULTILINE)

project = "discreet"
author = "the authors of discreet"
html_title = "discreet"
extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["figures"]
myst_heading_anchors = 6
myst_url_schemes = ["http", "https", "mailto"]
html_theme = "furo"
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_js_files = ["theme.js"]
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
# Transcripts hold what a command prints, policies and manifests are shortened by "…".
suppress_warnings = ["misc.highlighting_failure"]
nitpicky = True
# What the theme writes into each page, and what stands in its place: the server's policy of content admits
# neither scripts nor styles inside a page. What they did is in `static`.
INLINE = (
    (re.compile(r"<style>\s*body \{.*?</style>", re.DOTALL), ""),
    (re.compile(r"<script>\s*document\.body\.dataset\.theme = .*?</script>", re.DOTALL), ""),
    (re.compile(r'<svg ([^>]*)style="display: none;"'), r"<svg \1hidden"),
)
LEFT = re.compile(r"<style|<script(?![^>]* src=)| on\w+=\"")


def list_pages(room: Path, index: str) -> str:
    """Return the table of contents of a folder, in the order in which its index links the pages."""
    linked = [
        name for name in re.findall(r"\]\(([\w-]+)\.md", index) if (room / f"{name}.md").is_file()
    ]
    rest = sorted(page.stem for page in room.glob("*.md") if page.stem != "index")
    return write_contents([*dict.fromkeys([*linked, *rest])])


def write_contents(names: list[str]) -> str:
    """Return a table of contents in MyST, which shows in the sidebar only."""
    return "\n".join(["", "```{toctree}", ":hidden:", "", *names, "```", ""])


def complete_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Add to a page what only the site needs."""
    text = ELSEWHERE.sub(r"\1", source[0])
    text = FENCE.sub(r"\1\2", text)
    room = app.srcdir / Path(page).parent
    if page == "index":
        text += write_contents([*(f"{name}/index" for name in ROOMS), "gallery"])
    elif page.endswith("/index"):
        text += list_pages(Path(room), source[0])
    source[0] = text


def move_inline_code(app: Sphinx, failure: Exception | None) -> None:
    """Take scripts and styles out of the finished pages."""
    if failure is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text("utf-8")
        for pattern, instead in INLINE:
            text = pattern.sub(instead, text)
        text = text.replace(' style="opacity: 50%"', ' opacity="50%"')
        if found := LEFT.search(text):
            raise ExtensionError(
                f"{page}: {found[0]} is left, which the server's policy of content blocks"
            )
        page.write_text(text, "utf-8")


def setup(app: Sphinx) -> None:
    """Connect what is added here to the steps of a build."""
    app.connect("source-read", complete_page)
    app.connect("build-finished", move_inline_code)
