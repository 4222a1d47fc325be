"""The browser shows five lines at a time, follows links and goes back; it reports mistakes as text."""

from __future__ import annotations

import pytest

from treewright.bench.pages import BOTTOM, TOP, VIEW_LINES, Browser

SITE = {
    "/": "Home\n[Clickable '/long']",
    "/long": "\n".join(f"line {number}" for number in range(1, 13)) + "\n",
    "/customer-support": "Help",
    "/exact": "\n".join("abcde"),
}


def test_it_starts_on_the_start_page() -> None:
    assert Browser(SITE).view() == SITE["/"]
    with pytest.raises(ValueError, match="no page '/'"):
        Browser({"/a": ""})


def test_a_page_is_seen_five_lines_at_a_time_down_to_its_bottom_and_up_again() -> None:
    browser = Browser(SITE)
    views = [browser.click_url("/long"), browser.scroll_down(), browser.scroll_down()]
    assert [view.count("\n") + 1 for view in views] == [VIEW_LINES, VIEW_LINES, 2]
    assert "\n".join(views) == SITE["/long"].rstrip("\n")
    assert browser.scroll_down() == browser.scroll_down() == BOTTOM
    assert browser.view() == views[2]
    assert [browser.scroll_up(), browser.scroll_up(), browser.scroll_up()] == [views[1], views[0], TOP]
    assert browser.view() == views[0]


def test_a_page_that_fits_has_no_more_to_scroll_to() -> None:
    browser = Browser(SITE)
    assert browser.click_url("/exact") == SITE["/exact"]
    assert browser.scroll_down() == BOTTOM


def test_back_opens_the_page_before_at_its_top() -> None:
    browser = Browser(SITE)
    browser.click_url("/long")
    browser.scroll_down()
    browser.click_url("/exact")
    assert browser.go_to_previous_page().startswith("line 1\n")
    browser.scroll_down()
    assert browser.go_to_previous_page() == SITE["/"]
    assert browser.go_to_previous_page() == "Error: there is no previous page."
    assert browser.view() == SITE["/"]


def test_a_link_that_leads_nowhere_is_said_and_the_page_stays() -> None:
    browser = Browser(SITE)
    browser.click_url("/long")
    assert browser.click_url("/gone") == "Error: there is no page '/gone'."
    assert browser.view().startswith("line 1")
    assert browser.go_to_previous_page() == SITE["/"]


@pytest.mark.parametrize("url", ["/customer_support", "'/customer-support'", "customer-support", "/Customer-Support/"])
def test_spellings_of_a_path_that_mean_one_page_open_it(url: str) -> None:
    assert Browser(SITE).click_url(url) == "Help"
