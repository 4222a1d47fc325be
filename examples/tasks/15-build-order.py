from collections.abc import Mapping, Sequence


def build_order(needs: Mapping[str, Sequence[str]]) -> list[str] | None:
    """Return the order in which to build all parts, or None if there is none.

    `needs` gives for some parts the parts that must be built before them (a part may be listed twice). Parts that appear
    only as a need of others must be built as well, and need nothing. Whenever several parts could be built next, the one
    that comes first in alphabetical order (as Python sorts strings) is built. A part that needs itself, directly or through
    others, cannot be built. There may be tens of thousands of parts.
    """
    ...


def check(candidate):
    assert candidate({"roof": ["wall"], "wall": ["base"], "door": ["wall"]}) == ["base", "wall", "door", "roof"]
    assert candidate({"b": ["z"], "c": []}) == ["c", "z", "b"]
    assert candidate({"hen": ["egg"], "egg": ["hen"], "nest": []}) is None
