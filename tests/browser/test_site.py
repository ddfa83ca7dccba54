"""The documentation as a site: complete, silent under the server's policy of content, and readable in a browser."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.testclient import TestClient

from discreet.server.http import documentation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.browser.conftest import Browser

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("browser")


def build_site(source: Path, target: Path, *, builder: str) -> None:
    folders = ("-d", target.parent / "doctrees", "-c", ROOT / "scripts" / "site", source, target)
    program = (sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", builder)
    done = subprocess.run((*program, *folders), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_page_is_part_of_the_site_and_its_links_lead_somewhere(tmp_path: Path):
    build_site(ROOT / "docs", tmp_path / "site", builder="dummy")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a few pages, as the server shows them."""
    folder = tmp_path_factory.mktemp("site")
    source = folder / "docs"
    shutil.copytree(ROOT / "docs" / "pictures", source / "pictures")
    for room in ("tutorial", "how-to", "reference", "explanation", "attacks", "guard", "learn"):
        (source / room).mkdir()
        (source / room / "index.md").write_text(f"# {room}\n", "utf-8")
    shutil.copytree(ROOT / "docs" / "comparisons", source / "comparisons")
    for page in (source / "comparisons").glob("*.md"):
        page.write_text(page.read_text("utf-8").replace("](../", "](https://example.org/"), "utf-8")
    (source / "gallery.md").write_text("# Gallery\n\n![A report](pictures/assess.png)\n", "utf-8")
    (source / "index.md").write_text("# discreet\n\n```console\n$ ls\n```\n", "utf-8")
    build_site(source, folder / "built", builder="html")
    patch = pytest.MonkeyPatch()
    patch.setattr(documentation, "SITE", folder / "built")
    app = FastAPI()
    documentation.add_documentation(app)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/docs/"
    server.should_exit = True
    thread.join()
    patch.undo()


@pytest.mark.parametrize("page", ["index.html", "comparisons/arx.html", "search.html?q=ARX"])
def test_a_page_is_silent_under_the_policy_of_content(site: str, browser: Browser, page: str):
    tab = browser.open(site + page)
    assert tab.happened("Log.entryAdded") == []
    assert tab.happened("Runtime.exceptionThrown") == []
    hosts = {each["request"]["url"] for each in tab.happened("Network.requestWillBeSent")}
    assert {host for host in hosts if not host.startswith((site, "data:"))} == set()


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_its_screen(site: str, browser: Browser, scheme: str, width: int):
    tab = browser.open(site + "comparisons/index.html")
    tab.look(scheme=scheme, width=width)
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_search_finds_a_page_without_the_network(site: str, browser: Browser):
    tab = browser.open(site + "search.html?q=sdcMicro")
    until = time.monotonic() + 60
    while not (found := tab.evaluate("document.querySelectorAll('ul.search a').length")):
        assert time.monotonic() < until, "the search found nothing"
        time.sleep(0.05)
    assert found >= 1


def test_pages_may_not_be_framed_and_load_nothing_from_elsewhere(site: str):
    policy = httpx.get(site).headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_no_file_outside_the_site_is_shown(site: str):
    for path in ("../conf.py", "%2e%2e/%2e%2e/etc/passwd", "..%2f..%2fetc%2fpasswd"):
        assert httpx.get(site + path).status_code == 404


def test_an_installation_without_the_site_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(documentation, "SITE", tmp_path / "missing")
    app = FastAPI()
    documentation.add_documentation(app)
    answer = TestClient(app).get("/docs/")
    assert answer.status_code == 404
    assert "make docs" in answer.text
