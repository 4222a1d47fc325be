"""A page as lines of text, whatever it was sent as: HTML becomes Markdown with absolute links, other text stays as it is.

What only a browser with a screen has a use for goes: scripts, styles, pictures, form fields, what is hidden. Links of
navigation bars and footers are moved to the end, below the text they would otherwise bury.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin, urlsplit

from treewright.tools.pages_http import Fetched, NoPage

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

#: Longer lines are folded at a space, or a view of some lines could be a whole book.
LINE_CHARS = 400
_MOST_NAVIGATION = 60
_LONGEST_URL = 1_000
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = re.compile(r"text/.*|application/(?:.*\+)?(?:json|xml|x-?ndjson|jsonl|yaml|x-yaml|javascript|toml)")
_DROPPED = ("script", "style", "template", "svg", "iframe", "object", "canvas", "input", "select", "textarea", "button", "meta")
_NAVIGATION = ("nav", "footer", "aside")
_FOLD = re.compile(rf".{{1,{LINE_CHARS}}}(?:\s|$)|\S{{1,2000}}|\s+")
_LINK_BEGINS = re.compile(r"<a(?=[\s>])", re.IGNORECASE)
#: Depth of an element, and the sum of depths, up to which Markdown is made: the converter recurses, and looks up from each
#: element to the root. Only a page that is broken, or means harm, has more.
_DEEPEST, _MOST_STEPS = 150, 3_000_000
#: A parenthesis or a space in a URL would end the link it stands in.
_IN_LINK = str.maketrans({" ": "%20", "(": "%28", ")": "%29", "<": "%3C", ">": "%3E", '"': "%22"})


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page: where it leads, an absolute URL, and its words."""

    url: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A whole page, as lines of text.

    Args:
        url: where it is.
        lines: its text; never empty.
        links: in the order of the page, those of navigation last, each URL once.
    """

    url: str
    lines: tuple[str, ...]
    links: tuple[Link, ...] = ()


def read_page(page: Fetched) -> Document:
    """The page as text.

    Raises:
        NoPage: it is neither HTML nor text.
    """
    kind = page.kind or ("text/html" if page.body.lstrip()[:1] == b"<" else "text/plain")
    if kind not in _HTML and not _TEXT.fullmatch(kind):
        raise NoPage(f"{page.url} is {kind}, which is no text ({len(page.body):,} bytes).")
    text = _decoded(page, declared=kind in _HTML)
    if "\0" in text:
        raise NoPage(f"{page.url} says that it is {kind}, but is no text ({len(page.body):,} bytes).")
    links: tuple[Link, ...] = ()
    if kind in _HTML:
        text, links = _from_html(text, page.url)
    elif kind.endswith("json"):
        text = _indented(text)
    lines = _lines(text) or ["(The page has no text.)"]
    if page.cut:
        lines.append(f"[The page goes on, but only its first {len(page.body):,} bytes were read.]")
    return Document(page.url, tuple(lines), links)


def _decoded(page: Fetched, *, declared: bool) -> str:
    """By what the server says, a byte order mark, what the page says, UTF-8, else the old default of the web."""
    said = page.charset
    for mark, encoding in ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        said = encoding if page.body.startswith(mark) else said
    if said is None and declared:
        from bs4.dammit import EncodingDetector

        said = EncodingDetector.find_declared_encoding(page.body, is_html=True)
    if said is not None:
        try:
            return page.body.decode(said, "replace")
        except (LookupError, ValueError):  # a charset that does not exist, or that is none for text
            pass
    try:
        return page.body.decode()
    except UnicodeDecodeError as error:
        cut_in_a_character = page.cut and len(page.body) - error.start < 4
        return page.body.decode("utf-8" if cut_in_a_character else "cp1252", "replace")


def _indented(text: str) -> str:
    """JSON in lines of its own; as it is where it cannot be read."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        return text


def _lines(text: str) -> list[str]:
    """Folded lines, without spaces at their ends and with at most one empty line between others."""
    lines: list[str] = []
    for line in text.expandtabs(4).splitlines():
        folded = [piece.rstrip() for piece in _FOLD.findall(line)] if len(line) > LINE_CHARS else [line.rstrip()]
        lines += [piece for piece in folded if piece or (lines and lines[-1])]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _from_html(html: str, url: str) -> tuple[str, tuple[Link, ...]]:
    from bs4 import BeautifulSoup

    # A link ends where the next one begins, closed or not: the parser would put one into the other.
    soup = BeautifulSoup(_LINK_BEGINS.sub("</a><a", html), "html.parser")
    title = " ".join(soup.title.get_text().split()) if soup.title is not None else ""
    base = soup.find("base", href=True)
    base_url = absolute(str(base["href"]), url) or url if base is not None else url
    for tag in soup.find_all(lambda tag: tag.name in _DROPPED or tag.name in ("head", "title") or tag.has_attr("hidden")):
        if not tag.decomposed:
            tag.decompose()
    navigation: list[Link] = []
    for bar in soup.find_all(_is_navigation):
        if not bar.decomposed:
            navigation += _links(bar, base_url)
            bar.decompose()
    links = {link.url: link for link in _links(soup, base_url)}
    further = {link.url: link for link in navigation if link.text and link.url not in links}
    parts = [f"# {title}" if title else "", _markdown(soup)]
    if further:
        shown = list(further.values())[:_MOST_NAVIGATION]
        parts += ["Navigation:", "\n".join(f"- [{link.text}]({link.url})" for link in shown)]
    return "\n\n".join(filter(str.strip, parts)), (*links.values(), *further.values())


def _is_navigation(tag: Tag) -> bool:
    return tag.name in _NAVIGATION or tag.get("role") == "navigation"


def _links(part: Tag, base_url: str) -> Iterator[Link]:
    """The links in a part of the page; each is made absolute in it, or mere text if it leads to no page."""
    for anchor in part.find_all("a"):
        target = absolute(str(anchor.get("href") or ""), base_url)
        picture = anchor.find("img", alt=True)
        words = anchor.get_text(" ") or str(anchor.get("aria-label") or (picture["alt"] if picture is not None else ""))
        words = " ".join(words.split()).replace("[", "(").replace("]", ")")
        if not target or urldefrag(target)[0] == urldefrag(base_url)[0]:
            anchor.unwrap()
            continue
        # subtle: a link with a block in it would become several lines of Markdown that are no link any more.
        anchor.attrs = {"href": target}
        anchor.string = words
        yield Link(target, words)


def absolute(href: str, base_url: str) -> str:
    """The URL that a link leads to; "" when it is no page, such as mailto: or a script."""
    try:
        target = urljoin(base_url, "".join(href.split("\n")).strip()).translate(_IN_LINK)
        parts = urlsplit(target)
    except ValueError:
        return ""
    return target if parts.scheme in ("http", "https") and parts.netloc and len(target) <= _LONGEST_URL else ""


def _markdown(soup: BeautifulSoup) -> str:
    if _is_too_deep(soup):
        return _flat(soup)
    from markdownify import ATX, MarkdownConverter

    converter = MarkdownConverter(
        heading_style=ATX, bullets="-", autolinks=False, escape_asterisks=False, escape_underscores=False,
        strip=["img"], table_infer_header=True,
    )  # fmt: skip
    return converter.convert_soup(soup)


def _is_too_deep(soup: BeautifulSoup) -> bool:
    depths, steps = {id(soup): 0}, 0
    for tag in soup.find_all(True):  # parents come before what is in them
        depth = depths[id(tag)] = depths[id(tag.parent)] + 1
        steps += depth
        if depth > _DEEPEST or steps > _MOST_STEPS:
            return True
    return False


def _flat(soup: BeautifulSoup) -> str:
    """The text of a page that is nested too deep, each piece on a line of its own, with its links."""
    for anchor in soup.find_all("a", href=True):
        anchor.replace_with(f"[{anchor.get_text()}]({anchor['href']})")
    return soup.get_text("\n", strip=True)
