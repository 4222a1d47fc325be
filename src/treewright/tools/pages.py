"""Browsing pages of text: a view of some lines at a time, links to click, a way back.

    Browser       the interface: one reader of pages
    HttpBrowser   reads the web, by GET only
    WebPages      a browser as tools: `from_functions([WebPages])` or `tools=[WebPages]`

A page that cannot be had is an error in words, never an exception in the program that asked for it.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import TracebackType
from typing import Protocol, Self

from treewright.tools.pages_addresses import Resolve, resolve
from treewright.tools.pages_http import LARGEST, TIMEOUT_S, Fetcher, NoPage
from treewright.tools.pages_text import Document, Link, absolute, read_page

__all__ = ["BOTTOM", "TOP", "Browser", "HttpBrowser", "Link", "NoPage", "Page", "WebPages"]

VIEW_LINES = 40
BOTTOM = "[Reached the bottom of the page.]"
TOP = "[Reached the top of the page.]"
_MOST_BACK = 20
_MARKDOWN_LINK = re.compile(r"\[[^\]]*\]\((\S+?)\)")


@dataclass(frozen=True, slots=True)
class Page:
    """What is in view of a page.

    Args:
        url: where it is.
        text: the lines in view.
        first: number of the first of them, from 1.
        last: number of the last of them.
        lines: lines of the whole page, >= 1.
        links: of the whole page, absolute.
    """

    url: str
    text: str
    first: int
    last: int
    lines: int
    links: tuple[Link, ...] = ()

    @property
    def at_end(self) -> bool:
        """There is nothing below."""
        return self.last == self.lines


class Browser(Protocol):
    """One reader of pages. Whatever fails, the page that is open stays open."""

    async def open(self, url: str) -> Page:
        """Open a page at its top.

        Raises:
            NoPage: it cannot be had.
        """
        ...

    async def click(self, link: str) -> Page:
        """Follow a link of the open page: its URL, absolute or as the page may write it, or its words.

        Raises:
            NoPage: no page is open, or what the link leads to cannot be had.
        """
        ...

    def view(self) -> Page:
        """What is in view.

        Raises:
            NoPage: no page is open.
        """
        ...

    def scroll(self, views: int) -> Page:
        """Move by so many views, down where it is above 0; at the end or the top the view stays.

        Raises:
            NoPage: no page is open.
        """
        ...

    def back(self) -> Page:
        """The page before, as it was left.

        Raises:
            NoPage: there is none.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Opened:
    document: Document
    line: int = 0


class HttpBrowser:
    """A `Browser` of the web; a context. Not open, it is only its settings and can be copied.

    Args:
        allow_private: pages may come from addresses that are not of the public internet (localhost, 10.0.0.0/8, ...).
        view_lines: lines of a view, >= 1.
        timeout_s: seconds until a page must be there.
        largest: bytes that are read of a page.
        resolve: looks hosts up.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        view_lines: int = VIEW_LINES,
        timeout_s: float = TIMEOUT_S,
        largest: int = LARGEST,
        resolve: Resolve = resolve,
    ) -> None:
        self._fetcher = Fetcher(allow_private=allow_private, timeout_s=timeout_s, largest=largest, resolve=resolve)
        self._view_lines = view_lines
        self._open: deque[_Opened] = deque(maxlen=_MOST_BACK)

    async def __aenter__(self) -> Self:
        await self._fetcher.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._fetcher.__aexit__(kind, error, trace)

    async def open(self, url: str) -> Page:
        """Open a page at its top; https:// where no scheme is given.

        Raises:
            NoPage: it cannot be had.
        """
        fetched = await self._fetcher.fetch(url if "://" in url else f"https://{url.strip()}")
        # A large page takes seconds to convert: in a thread, so that others go on meanwhile.
        self._open.append(_Opened(await asyncio.to_thread(read_page, fetched)))
        return self.view()

    async def click(self, link: str) -> Page:
        """Follow a link: by its words, or by a URL that need not be on the page.

        Raises:
            NoPage: no page is open, no link has these words, or what it leads to cannot be had.
        """
        return await self.open(_target(link, self._current().document))

    def view(self) -> Page:
        """What is in view.

        Raises:
            NoPage: no page is open.
        """
        here = self._current()
        lines = here.document.lines
        last = min(here.line + self._view_lines, len(lines))
        text = "\n".join(lines[here.line : last])
        return Page(here.document.url, text, here.line + 1, last, len(lines), here.document.links)

    def scroll(self, views: int) -> Page:
        """Move by so many views. Views begin at whole multiples of their size, so that going on and back shows the same.

        Raises:
            NoPage: no page is open.
        """
        here = self._current()
        bottom = (len(here.document.lines) - 1) // self._view_lines
        view = max(0, min(here.line // self._view_lines + views, bottom))
        self._open[-1] = replace(here, line=view * self._view_lines)
        return self.view()

    def back(self) -> Page:
        """The page before, as it was left; the last 20 are remembered.

        Raises:
            NoPage: there is none.
        """
        if len(self._open) < 2:
            raise NoPage("there is no page to go back to.")
        self._open.pop()
        return self.view()

    def _current(self) -> _Opened:
        if not self._open:
            raise NoPage("no page is open: open one first.")
        return self._open[-1]


def _target(link: str, page: Document) -> str:
    """Where a link leads, however it is named.

    Raises:
        NoPage: it is no URL and no link has these words.
    """
    markdown = _MARKDOWN_LINK.fullmatch(link.strip())
    named = (markdown[1] if markdown else link).strip().strip("'\"`<>")
    by_words = {one.text.casefold(): one.url for one in reversed(page.links) if one.text}
    if (found := by_words.get(named.casefold())) is not None:
        return found
    if re.search(r"[/.?]", named) and not re.search(r"\s", named) and (target := absolute(named, page.url)):
        return target
    near = get_close_matches(named.casefold(), by_words, 1)
    raise NoPage(f"the page has no link {named[:200]!r}" + (f": did you mean {by_words[near[0]]}?" if near else "."))


class WebPages:
    """A browser as tools: a model reads what they give. Each session has one of its own.

    Args:
        browser: not open yet; one of the public web when None.
    """

    def __init__(self, browser: HttpBrowser | None = None) -> None:
        self._browser = browser if browser is not None else HttpBrowser()

    async def __aenter__(self) -> Self:
        await self._browser.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._browser.__aexit__(kind, error, trace)

    async def open_page(self, url: str) -> str:
        """Open a web page and read its first lines.

        Links are written as [words](URL). The last line says which lines of how many are in view.
        """
        try:
            return _shown(await self._browser.open(url))
        except NoPage as error:
            return f"Error: {error}"

    async def click(self, link: str) -> str:
        """Follow a link of the open page and read the first lines of where it leads.

        Args:
            link: its URL, or its words.
        """
        try:
            return _shown(await self._browser.click(link))
        except NoPage as error:
            return f"Error: {error}"

    async def back(self) -> str:
        """Go back to the page that was open before, as it was left."""
        try:
            return _shown(self._browser.back())
        except NoPage as error:
            return f"Error: {error}"

    async def scroll_down(self) -> str:
        """Read the next lines of the open page."""
        try:
            return BOTTOM if self._browser.view().at_end else _shown(self._browser.scroll(1))
        except NoPage as error:
            return f"Error: {error}"

    async def scroll_up(self) -> str:
        """Read the lines before those in view."""
        try:
            return TOP if self._browser.view().first == 1 else _shown(self._browser.scroll(-1))
        except NoPage as error:
            return f"Error: {error}"

    async def view(self) -> str:
        """Read again what is in view of the open page."""
        try:
            return _shown(self._browser.view())
        except NoPage as error:
            return f"Error: {error}"


def _shown(page: Page) -> str:
    return f"{page.text}\n{BOTTOM if page.at_end else f'[Lines {page.first} to {page.last} of {page.lines}.]'}"
