"""The console in a real browser: silent, readable for everybody, and of use without script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.browser.console_browser import CUT_OFF, PASSWORD, ConsoleBrowser, open_browser
from tests.server.console.conftest import EXTRA, MARKUP
from tests.server.http.conftest import POLICY, served

from discreet.guard.identity.accounts import set_password
from discreet.guard.identity.authenticator import ClientInfo
from discreet.server.settings import ServerLimits, read_settings
from discreet.server.startup import open_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.browser.console_browser import ConsoleTab

pytestmark = pytest.mark.xdist_group("browser")  # one browser is enough
# Each user with the pages they have.
ADMIN = ClientInfo("admin", "127.0.0.1", is_local=True)
PAGES = {
    "admin": ("/", "/journal", "/guard", "/guard/see-as", "/assess?table=patients"),
    "analyst": ("/", "/ask"),
    "clerk": ("/", "/ask?table=patients"),
}
EVERY_PAGE = [(user, page) for user, pages in PAGES.items() for page in pages]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleBrowser]:
    data = tmp_path_factory.mktemp("console") / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_ADMIN_PASSWORD", PASSWORD)
        limits = ServerLimits(requests_per_minute=100_000)
        opened = open_server(
            read_settings(data, policy=POLICY, port=0, plain=True, limits=limits, epsilon="0.1")
        )
    for web in served(opened):
        server = opened.server
        session = server.open_session(ADMIN, {}, "test")
        for statement in session.split(EXTRA):
            session.run(session.prepare(statement))
        session.close()
        for user in ("analyst", "clerk"):
            set_password(server.vault.documents, user, PASSWORD, now=server.clock())
        with open_browser(web.url) as started:
            yield started


@pytest.fixture(scope="module")
def tabs(browser: ConsoleBrowser) -> Iterator[dict[str, ConsoleTab]]:
    """A tab for each user, signed in."""
    with browser.tab() as admin, browser.tab() as analyst, browser.tab() as clerk:
        found = {"admin": admin, "analyst": analyst, "clerk": clerk}
        for user, tab in found.items():
            tab.sign_in(user)
        yield found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("user", "page"), EVERY_PAGE)
def test_axe_finds_nothing(tabs: dict[str, ConsoleTab], user: str, page: str, scheme: str):
    tabs[user].open(page)
    assert tabs[user].find_violations(scheme=scheme) == []


@pytest.mark.parametrize(("user", "page"), EVERY_PAGE)
def test_a_page_is_silent_and_loads_nothing_from_elsewhere(
    tabs: dict[str, ConsoleTab], user: str, page: str
):
    tabs[user].open(page)
    assert tabs[user].complaints == []
    assert tabs[user].outside == []


@pytest.mark.parametrize("width", [320, 768])
@pytest.mark.parametrize(("user", "page"), EVERY_PAGE)
def test_nothing_is_cut_off(tabs: dict[str, ConsoleTab], user: str, page: str, width: int):
    tab = tabs[user]
    tab.page.set_viewport_size({"width": width, "height": 900})
    tab.open(page)
    assert tab.page.evaluate(CUT_OFF) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_sign_in_and_its_refusal_are_readable(browser: ConsoleBrowser, scheme: str):
    with browser.tab() as tab:
        tab.open("/sign-in")
        assert tab.find_violations(scheme=scheme) == []
        tab.page.get_by_label("User").fill("clerk")
        tab.page.get_by_label("Password").fill("not that one")
        tab.page.keyboard.press("Enter")
        assert "Name or password is wrong" in tab.page.get_by_role("alert").inner_text()
        assert tab.find_violations(scheme=scheme) == []


def test_the_custodian_sees_how_exposed_people_are(tabs: dict[str, ConsoleTab]):
    tabs["admin"].open("/")
    assert "tables of people expose people" in tabs["admin"].verdict()
    card = tabs["admin"].page.locator("li.card", has_text="patients").first
    assert "smallest class, of 5 required" in card.inner_text()


def test_the_analyst_sees_a_budget_and_no_number_of_rows(tabs: dict[str, ConsoleTab]):
    tabs["analyst"].open("/")
    card = tabs["analyst"].page.locator("li.card", has_text="patients").first
    assert "epsilon left" in card.inner_text()
    assert "class" not in card.inner_text()


def test_home_works_without_script(browser: ConsoleBrowser):
    with browser.tab(has_script=False) as tab:
        tab.sign_in("admin")
        tab.page.get_by_role("link", name="Measure how exposed people are").click()
        assert "expose people" in tab.verdict()
        tab.page.get_by_role("button", name="Sign out").click()
        assert tab.page.url.endswith("/console/sign-in")


def test_the_keyboard_is_enough(browser: ConsoleBrowser):
    with browser.tab() as tab:
        tab.open("/sign-in")
        for keys in ("Tab", "Tab"):
            tab.page.keyboard.press(keys)
        tab.page.keyboard.type("clerk")
        tab.page.keyboard.press("Tab")
        tab.page.keyboard.type(PASSWORD)
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**/console/")
        tab.page.keyboard.press("Tab")
        assert tab.page.evaluate("document.activeElement.textContent") == "Skip to the content"


def test_another_page_cannot_frame_the_console(browser: ConsoleBrowser):
    with browser.tab() as tab:
        tab.page.set_content(f'<iframe src="{browser.url}/console/sign-in"></iframe>')
        tab.page.wait_for_load_state("networkidle")
        (frame,) = tab.page.frames[1:]
        assert frame.query_selector("form") is None


BY_INSURANCE = "SELECT insurance, count(*) AS people FROM patients GROUP BY insurance"


@pytest.fixture
def ask(tabs: dict[str, ConsoleTab]) -> ConsoleTab:
    """The analyst's page for questions, with a question in it."""
    tab = tabs["analyst"]
    tab.page.set_viewport_size({"width": 1280, "height": 900})
    tab.open("/ask")
    tab.page.get_by_role("textbox", name="SQL").fill(BY_INSURANCE)
    tab.page.get_by_label("Epsilon, at most").fill("0.25")
    return tab


def test_the_price_appears_while_the_analyst_types(ask: ConsoleTab):
    price = ask.page.get_by_role("heading", name="Price and error")
    price.wait_for()
    panel = ask.page.locator("#price").inner_text()
    assert "this question takes 0.25" in panel
    assert "at 95 % confidence" in panel
    assert ask.find_violations(scheme="dark") == []
    assert ask.complaints == []


def test_an_answer_has_errors_a_chart_and_a_free_repeat(ask: ConsoleTab):
    ask.page.get_by_role("button", name="Ask", exact=True).click()
    assert "The answer cost epsilon 0.25" in ask.verdict()
    answer = ask.page.get_by_role("table", name="Answer").inner_text()
    assert "public" in answer
    assert "±" in answer
    assert ask.page.get_by_role(
        "img", name="people, with what noise may have moved it"
    ).is_visible()
    for scheme in ("light", "dark"):
        assert ask.find_violations(scheme=scheme) == []
    ask.page.locator(".history a").first.click()
    ask.page.get_by_role("button", name="Ask", exact=True).click()
    assert "The same question again is free" in ask.verdict()
    assert ask.page.get_by_role("table", name="Answer").inner_text() == answer


def test_a_refusal_says_why_and_costs_nothing(ask: ConsoleTab):
    ask.page.get_by_role("textbox", name="SQL").fill("SELECT name FROM patients")
    ask.page.get_by_role("button", name="Ask", exact=True).click()
    assert ask.verdict() == "That was not answered."
    assert ask.page.get_by_role("alert").inner_text()
    assert ask.find_violations(scheme="light") == []
    ask.complaints.clear()  # the browser reports the status of the refusal


def test_a_question_is_asked_without_script(browser: ConsoleBrowser):
    with browser.tab(has_script=False) as tab:
        tab.sign_in("analyst")
        tab.open("/ask")
        tab.page.get_by_role("textbox", name="SQL").fill(BY_INSURANCE)
        tab.page.get_by_label("Epsilon, at most").fill("0.01")
        tab.page.get_by_role("button", name="Show the price").click()
        assert "This question costs epsilon 0.01" in tab.verdict()
        tab.page.get_by_role("button", name="Ask", exact=True).click()
        assert "The answer cost epsilon 0.01" in tab.verdict()


def test_markup_in_names_and_cells_is_only_text(tabs: dict[str, ConsoleTab]):
    tab = tabs["clerk"]
    tab.open("/")
    tab.page.get_by_role("link", name=MARKUP).click()
    tab.page.get_by_role("textbox", name="SQL").fill(
        f'SELECT *, \'{MARKUP}\' AS "{MARKUP}x" FROM "{MARKUP}"'
    )
    tab.page.get_by_role("button", name="Ask", exact=True).click()
    assert "1 row, exact" in tab.verdict()
    assert MARKUP in tab.page.get_by_role("table", name="Answer").inner_text()
    assert tab.page.locator("main img").count() == 0
    assert tab.complaints == []


def test_the_custodian_filters_and_verifies_the_journal(tabs: dict[str, ConsoleTab]):
    tab = tabs["admin"]
    tab.page.set_viewport_size({"width": 1280, "height": 900})
    tab.open("/journal")
    tab.page.get_by_label("User").fill("clerk")
    tab.page.get_by_label("Kind").select_option("login")
    tab.page.get_by_role("button", name="Filter").click()
    assert "are refusals" in tab.verdict() or "is a refusal" in tab.verdict()
    assert "password: right" in tab.page.get_by_role("table").inner_text()
    tab.page.get_by_role("button", name="Verify all entries").click()
    assert "The journal is whole" in tab.verdict()
    assert tab.find_violations(scheme="dark") == []


def test_the_custodian_sees_as_the_nurse_and_why(tabs: dict[str, ConsoleTab]):
    tab = tabs["admin"]
    tab.page.set_viewport_size({"width": 1280, "height": 900})
    tab.open("/guard")
    tab.page.get_by_role("link", name="See as another user").click()
    tab.page.get_by_label("User").select_option("nurse")
    tab.page.get_by_label("Query").fill("SELECT patient_id, ward FROM visits LIMIT 2")
    tab.page.get_by_role("button", name="See as this user").click()
    assert tab.verdict() == "nurse sees 2 rows of this."
    rules = tab.page.locator(".rules").inner_text()
    assert "Row policy own_ward" in rules
    assert "Mask number_end" in rules
    assert "oncology" in tab.page.get_by_role("table", name="What nurse sees").inner_text()
    for scheme in ("light", "dark"):
        assert tab.find_violations(scheme=scheme) == []


def test_the_custodian_assesses_a_table(tabs: dict[str, ConsoleTab]):
    tab = tabs["admin"]
    tab.open("/")
    tab.page.get_by_role("link", name="Assess patients in detail").click()
    tab.page.get_by_role("button", name="Assess", exact=True).click()
    assert "people are unique on birth_date, sex and postcode" in tab.verdict()
    sets = tab.page.get_by_role("table", name="The smallest sets of columns that single people out")
    assert "birth_date + postcode" in sets.inner_text()
    for scheme in ("light", "dark"):
        assert tab.find_violations(scheme=scheme) == []
    tab.page.set_viewport_size({"width": 320, "height": 900})
    assert tab.page.evaluate(CUT_OFF) == []
    assert tab.complaints == []
