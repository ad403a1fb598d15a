"""A headless Chromium for the tests of the page, where there is one."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

__all__ = ["chromium", "console", "set_screen"]

REQUIRED = os.environ.get("CERTIGAP_BROWSER") == "required"


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a driver; without selenium, Chromium or its driver the test is skipped, or fails if required."""
    try:
        webdriver = importlib.import_module("selenium.webdriver")
        service = importlib.import_module("selenium.webdriver.chrome.service")
    except ImportError:
        _missing("selenium")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not program or not driver:
        _missing("Chromium or its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
    ):  # fmt: skip
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=service.Service(driver))
    try:
        yield browser
    finally:
        browser.quit()


def console(browser: Any) -> list[str]:
    """Return what the page and the browser wrote to the console since the last call."""
    return [entry["message"] for entry in browser.get_log("browser")]


def set_screen(browser: Any, width: int, dark: bool = False) -> None:
    """Show the page as on a screen of this width, light or dark."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def _missing(what: str) -> None:
    if REQUIRED:
        pytest.fail(f"CERTIGAP_BROWSER=required, but {what} is not installed")
    pytest.skip(f"{what} is not installed")
