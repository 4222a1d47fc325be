"""A browser for a site of plain-text pages: views of a few lines, links written as [Clickable 'PATH'].

It reports mistakes as ordinary text, as the tools of M3ToolEval do, and is a state: each program needs one of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

VIEW_LINES = 5
START = "/"
BOTTOM = "[Reached the bottom of the page.]"
TOP = "[Reached the top of the page.]"


class Browser:
    """One reader on a site.

    Args:
        pages: path -> text. The start page "/" is open at first.

    Raises:
        ValueError: there is no start page.
    """

    def __init__(self, pages: Mapping[str, str]) -> None:
        if START not in pages:
            raise ValueError(f"the site has no page {START!r}")
        self._pages = pages
        # subtle: some links of the benchmark's site spell a path with _ where its page has -, and the other way round.
        self._paths = {_alike(path): path for path in pages}
        self._visited = [START]
        self._line = 0

    def view(self) -> str:
        """The lines in view."""
        return "\n".join(self._lines()[self._line : self._line + VIEW_LINES])

    def click_url(self, url: str) -> str:
        """Open a page at its top; a message when there is none, and the open page stays."""
        path = url if url in self._pages else self._paths.get(_alike(str(url)))
        if path is None:
            return f"Error: there is no page {url!r}."
        self._visited.append(path)
        self._line = 0
        return self.view()

    def go_to_previous_page(self) -> str:
        """Go back to the page before, at its top; a message when there is none."""
        if len(self._visited) == 1:
            return "Error: there is no previous page."
        self._visited.pop()
        self._line = 0
        return self.view()

    def scroll_down(self) -> str:
        """The next lines; `BOTTOM` when there are none, and the view stays."""
        if self._line + VIEW_LINES >= len(self._lines()):
            return BOTTOM
        self._line += VIEW_LINES
        return self.view()

    def scroll_up(self) -> str:
        """The lines before; `TOP` when there are none, and the view stays."""
        if self._line == 0:
            return TOP
        self._line -= VIEW_LINES
        return self.view()

    def _lines(self) -> list[str]:
        return self._pages[self._visited[-1]].rstrip("\n").split("\n")


def _alike(path: str) -> str:
    plain = path.strip().strip("'\"").replace("-", "_").casefold()
    return f"/{plain.strip('/')}"
