# ruff: noqa: F821 - the function that is called comes with the program under test

assert sum_positive([5]) == 5
assert sum_positive([0]) == 0
assert sum_positive([0, 1]) == 1
assert sum_positive([-1, -2, -3]) == 0
assert sum_positive([1, 2, 3]) == 6
assert sum_positive([4, 4, -4]) == 8
assert sum_positive([-1, 10, -100, 1000]) == 1010
assert sum_positive([0.5, -0.25, 0.25]) == 0.75
assert sum_positive(list(range(-100, 101))) == 5050
