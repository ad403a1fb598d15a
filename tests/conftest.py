"""What all tests share: the counts, a tenth of what is promised unless ``--full`` is given."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest


def pytest_configure() -> None:
    """Let Ctrl-C reach the commands that tests start: a shell's background jobs inherit it as ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--full``."""
    parser.addoption("--full", action="store_true", help="every count that is promised, not a tenth")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip tests that only a full run has time for."""
    if not config.getoption("--full"):
        for item in items:
            if item.get_closest_marker("full"):
                item.add_marker(pytest.mark.skip(reason="only in a full run (nox -s tests-full)"))


@pytest.fixture
def counted(request: pytest.FixtureRequest) -> Callable[[int], int]:
    """Return a function from a promised count to the one of this run."""
    full = bool(request.config.getoption("--full"))
    return lambda count: count if full else max(count // 10, 1)
