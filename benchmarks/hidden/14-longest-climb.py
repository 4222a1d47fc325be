# ruff: noqa: F821 - the function that is called comes with the program under test

assert longest_climb([]) == 0
assert longest_climb([7]) == 1
assert longest_climb([2, 1]) == 1
assert longest_climb([5, 5, 5]) == 1
assert longest_climb([1, 2, 3, 4]) == 4
assert longest_climb([1, 2, 2, 3]) == 3
assert longest_climb([1, 9, 2, 3]) == 3
assert longest_climb([1, 2, 10, 3, 4, 5]) == 5
assert longest_climb([1, 2, 0, 3, 4, 1, 5]) == 4
assert longest_climb([3, 4, 1, 2, 5]) == 3
assert longest_climb([1, 2, 3, 2, 3, 4]) == 3
assert longest_climb([10, 1, 2, 3, 0]) == 3
assert longest_climb([1, 5, 3, 4, 2, 6, 7]) == 4
assert longest_climb([-3, -2, -2, -1, 0]) == 4


def test_long_trails_take_linear_time():
    trail = [*range(50000), 0, *range(50000, 99999)]
    assert longest_climb(trail) == 99999
    assert longest_climb([1, 0] * 50000) == 2
