"""The texts of a journal, each stored once by its content: short ones by each writer, long ones by all of them together."""

from __future__ import annotations

import hashlib
import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from treewright.journal.packing import pack, unpack

if TYPE_CHECKING:
    import sqlalchemy as sa

    from treewright.journal.tables import Tables

#: Texts that a writer remembers. A search comes back to the programs and prompts it has just used.
RECENT = 4096
#: Packed texts from this many bytes on are found again by all writers.
LONG = 2000


class Keeper:
    """Stores texts within the transactions of one writer.

    Args:
        connection: the writer's.
        tables: statements of the journal.
    """

    def __init__(self, connection: sa.Connection, tables: Tables) -> None:
        self._connection = connection
        self._tables = tables
        self._recent: OrderedDict[bytes, int] = OrderedDict()

    def keep(self, text: str) -> int:
        """Store a text, if it is not there yet; its number."""
        data = text.encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(data, digest_size=16).digest()
        if key not in self._recent:
            self._recent[key] = self._stored(data, zlib.crc32(data))
            if len(self._recent) > RECENT:
                self._recent.popitem(last=False)
        self._recent.move_to_end(key)
        return self._recent[key]

    def forget(self) -> None:
        """A transaction was undone: what was stored in it is gone."""
        self._recent.clear()

    def _stored(self, data: bytes, checksum: int) -> int:
        body = pack(data)
        if len(body) >= LONG:
            for row in self._connection.execute(self._tables.long_texts, {"of": checksum}):
                if row.body == body:
                    return int(row.number)
        return int(self._connection.execute(self._tables.new_text, {"checksum": checksum, "body": body}).scalar_one())


def finder(connection: sa.Connection, tables: Tables) -> Callable[[int], str]:
    """A function that gives the text of a number; it raises ValueError for one that is missing or damaged."""
    found: dict[int, str] = {}

    def find(number: int) -> str:
        if number not in found:
            row = connection.execute(tables.text_of, {"of": number}).one_or_none()
            if row is None:
                raise ValueError("one of its texts is missing")
            data = unpack(row.body)
            if zlib.crc32(data) != row.checksum:
                raise ValueError("one of its texts is damaged")
            found[number] = data.decode("utf-8", "surrogatepass")
        return found[number]

    return find
