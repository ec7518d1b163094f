"""One server and one browser for all tests here."""

import os
import shutil

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.lab import FLAGS, PATIENCE, Course


@pytest.fixture(scope="session")
def course(tmp_path_factory):
    """One server for all tests here."""
    course = Course(tmp_path_factory.mktemp("browser"))
    yield course
    course.stop()


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium, headless; CHROMIUM names another one."""
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    path = next(filter(None, map(shutil.which, filter(None, names))), None)
    if path is None:
        pytest.fail("no Chromium on this machine: `apt-get install chromium`, or set CHROMIUM to its path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def window(browser):
    """Opens fresh windows, each with a storage of its own, that note what they ask for and what goes wrong."""
    contexts = []

    def opened(**settings):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 1000}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.asked, page.wrong = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def page(window):
    """A fresh window."""
    return window()
