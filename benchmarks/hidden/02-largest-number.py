# ruff: noqa: F821 - the function that is called comes with the program under test

assert largest([5]) == 5
assert largest([-1]) == -1
assert largest([1, 2, 3]) == 3
assert largest([3, 2, 1]) == 3
assert largest([0, 0]) == 0
assert largest([-10, 0, -3]) == 0
assert largest([-100000, -99999, -100001]) == -99999
assert largest([2, 8, 8, 4]) == 8
assert largest([0.5, 0.75, 0.25]) == 0.75
assert largest(list(range(1000))) == 999
