# ruff: noqa: F821 - the function that is called comes with the program under test

assert tilings([]) == 1
assert tilings(["##", "##"]) == 1
assert tilings(["."]) == 0
assert tilings([".."]) == 1
assert tilings([".", "."]) == 1
assert tilings(["...", "..."]) == 3
assert tilings(["....", "....", "...."]) == 4
assert tilings(["....", "....", "....", "...."]) == 2
assert tilings([".....", ".....", "....."]) == 0
assert tilings(["....", ".##.", ".##.", "...."]) == 2
assert tilings([".#..", "...#"]) == 1
assert tilings(["." * 60]) == 1
assert tilings(["." * 60] * 9) == 44
assert tilings(["." * 9] * 60) == 44


def test_many_pillars():
    floor = ["".join("#" if y % 3 == 1 and x % 3 == 1 else "." for x in range(60)) for y in range(9)]
    assert tilings(floor) == 501205278344179000221324224
    assert tilings(["".join(column) for column in zip(*floor, strict=True)]) == 501205278344179000221324224


def test_slanting_pillars():
    floor = ["".join("#" if (x * 7 + y * 5) % 11 == 0 else "." for x in range(60)) for y in range(8)]
    assert tilings(floor) == 32534987542462
