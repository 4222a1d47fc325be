# ruff: noqa: F821 - the function that is called comes with the program under test

assert build_order({}) == []
assert build_order({"a": []}) == ["a"]
assert build_order({"a": ["a"]}) is None
assert build_order({"b": [], "a": []}) == ["a", "b"]
assert build_order({"a": ["b"], "b": ["c"], "c": ["a"]}) is None
assert build_order({"a": ["b", "b"]}) == ["b", "a"]
assert build_order({"a": ["x"], "b": [], "x": []}) == ["b", "x", "a"]
assert build_order({"x": ["B"], "a": ["x"]}) == ["B", "x", "a"]
assert build_order({"d": ["a"], "c": ["a"], "b": ["c"]}) == ["a", "c", "b", "d"]
assert build_order({"p10": [], "p9": []}) == ["p10", "p9"]
assert build_order({"a": ["b"], "c": ["d"], "d": ["c"]}) is None
assert build_order({"m": ["k", "l"], "k": ["z"], "l": ["z"]}) == ["z", "k", "l", "m"]


def test_long_chains():
    needs = {f"{number:05}": [f"{number + 1:05}"] for number in range(20000)}
    assert build_order(needs) == [f"{number:05}" for number in range(20000, -1, -1)]
    needs["20000"] = ["00000"]
    assert build_order(needs) is None
