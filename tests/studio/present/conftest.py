"""What tests of the presenter share."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    from tests.studio.present.showing import chromium

    with chromium() as browser:
        yield browser
