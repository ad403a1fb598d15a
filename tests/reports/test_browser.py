"""The page in a real browser: it is whole, it sorts, it fits a phone, and no stranger's script runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from bench.jobs.job import Record
from reports.report import write_report
from tests.bench.sample_records import record
from tests.reports.browser import chromium, console, set_screen
from tests.reports.sample_stores import hostile_records, small_store


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return one browser for all tests."""
    with chromium() as driver:
        yield driver


def small_page_store() -> list[Record]:
    """Return the small store without most sizes, and with a method whose instances have small gaps."""
    rows = [r for r in small_store() if r.size in (4, 10, 11)]
    for i, value in enumerate((999999.0, 5.0, 40.0)):
        name, field = f"s{i}", {"experiment": "files", "family": "file"}
        rows.append(record("hybrid", name, value, solve_s=10.0 ** (i - 7), **field))
        rows.append(record("milp", name, 1e6, status="optimal", bound=1e6, solve_s=1.0, **field))
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a small store."""
    folder = tmp_path_factory.mktemp("small")
    write_report(small_page_store(), folder, store=Path("my store.sqlite"))
    return folder


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a stranger's store."""
    folder = tmp_path_factory.mktemp("hostile")
    write_report(hostile_records(), folder)
    return folder


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a store without rows."""
    folder = tmp_path_factory.mktemp("empty")
    write_report([], folder)
    return folder


def load(browser: Any, folder: Path) -> None:
    """Show the report's page."""
    console(browser)
    browser.get((folder / "index.html").as_uri())


@pytest.mark.parametrize("name", ["folder", "hostile", "empty"])
def test_page_is_whole(browser: Any, name: str, request: pytest.FixtureRequest) -> None:
    """Nothing on the console, every picture is there, and the title is the question, scripts or not."""
    load(browser, request.getfixturevalue(name))
    assert console(browser) == []
    loaded = "return [...document.images].every(i => i.complete && i.naturalWidth > 0)"
    assert browser.execute_script(loaded)
    assert browser.title.startswith("How far from optimal")


@pytest.mark.parametrize("name", ["folder", "hostile", "empty"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_page_never_scrolls_sideways(
    browser: Any, name: str, width: int, dark: bool, request: pytest.FixtureRequest
) -> None:
    """On a phone and a desk, light and dark, the page is as wide as the screen, with a dialog open too."""
    set_screen(browser, width, dark)
    load(browser, request.getfixturevalue(name))
    measured = "return [document.documentElement.scrollWidth, window.innerWidth]"
    assert browser.execute_script(measured) == [width, width]
    for button in browser.find_elements("css selector", "button.cell")[:1]:
        browser.execute_script("arguments[0].click()", button)
        assert browser.execute_script(measured) == [width, width]
        assert browser.execute_script("return document.getElementById('cell').scrollWidth") <= width


def test_dark_is_dark(browser: Any, folder: Path) -> None:
    """The page follows the reader's choice of light or dark."""
    colours = []
    for dark in (False, True):
        set_screen(browser, 1280, dark)
        load(browser, folder)
        colours.append(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert colours[0] == "rgb(255, 255, 255)"
    assert colours[1] not in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")


def test_tables_sort_on_a_click(browser: Any, folder: Path) -> None:
    """A click sorts by number, a second one the other way, and what is empty stays last."""
    set_screen(browser, 1280)
    load(browser, folder)
    table = browser.find_element("css selector", "#table-gap-and-time-by-method table")
    heads = table.find_elements("css selector", "th")
    column = [head.text for head in heads].index("median time (ms)")
    for order in ("ascending", "descending"):
        heads[column].find_element("css selector", "button").click()
        assert heads[column].get_attribute("aria-sort") == order
        rows = table.find_elements("css selector", "tbody tr")
        texts = [row.find_elements("css selector", "td")[column].text for row in rows]
        numbers = [float(text) for text in texts if text != "–"]
        assert len(set(numbers)) > 3
        assert numbers == sorted(numbers, reverse=order == "descending")
        assert "–" not in texts[: len(numbers)]


def test_a_cell_shows_its_rows_and_the_command(browser: Any, folder: Path) -> None:
    """A click on a measured value lists the rows behind it and the one command that repeats them."""
    load(browser, folder)
    button = browser.find_element("css selector", "td[data-column='largest gap (%)'] button.cell")
    browser.execute_script("arguments[0].click()", button)
    dialog = browser.find_element("id", "cell")
    assert dialog.is_displayed()
    shown = [row.text for row in dialog.find_elements("css selector", "tbody tr")]
    assert len(shown) == 2
    assert "hybrid" in shown[0]
    command = browser.find_element("id", "cell-command").text
    assert command.startswith("certigap run balance-guarantee --only balance-guar,balance-guar")
    assert command.endswith("--store 'my store.sqlite'")
    dialog.find_element("css selector", "form button").click()
    assert not dialog.is_displayed()


def test_a_point_of_a_figure_shows_its_rows(browser: Any, folder: Path) -> None:
    """A click on a figure's point opens the same list."""
    set_screen(browser, 1280)
    load(browser, folder)
    point = browser.find_element("css selector", "#figure-fig6a circle")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", point)
    point.click()
    assert browser.find_element("id", "cell-title").text.startswith("Exhaustive (3^K loop): 10")
    assert len(browser.find_elements("css selector", "#cell-rows tr")) == 2


def test_a_strange_key_gives_no_command(browser: Any, hostile: Path) -> None:
    """Rows whose keys are no plain words are shown without a command to copy."""
    load(browser, hostile)
    for button in browser.find_elements("css selector", "#table-runs-that-did-not-end-well button.cell"):
        browser.execute_script("arguments[0].click()", button)
        text = browser.find_element("id", "cell-command").get_attribute("textContent")
        assert text.startswith("(")
        browser.execute_script("document.getElementById('cell').close()")


@pytest.mark.parametrize("name", ["folder", "hostile", "empty"])
def test_links_resolve(browser: Any, name: str, request: pytest.FixtureRequest) -> None:
    """Every link leads to a part of the page, a file of the folder, or one of the papers."""
    place = request.getfixturevalue(name)
    load(browser, place)
    links = [link.get_attribute("href") for link in browser.find_elements("css selector", "a")]
    assert links
    for link in links:
        parts = urlsplit(link)
        if parts.scheme == "https":
            assert parts.netloc == "arxiv.org"
        else:
            path = Path(unquote(parts.path))
            assert path.is_file(), link
            assert path.is_relative_to(place)
            assert not parts.fragment or browser.find_elements("id", parts.fragment), link


def test_nothing_is_loaded_from_elsewhere(browser: Any, folder: Path) -> None:
    """The page alone, copied out of its folder, shows the same pictures and fetches nothing."""
    alone = folder.parent / "alone.html"
    alone.write_bytes((folder / "index.html").read_bytes())
    browser.get(alone.as_uri())
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.execute_script("return document.images.length") > 0
    assert browser.execute_script(
        "return [...document.images].every(i => i.naturalWidth > 0 && i.src.startsWith('data:'))"
    )
