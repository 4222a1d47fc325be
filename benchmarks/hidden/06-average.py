# ruff: noqa: F821 - the function that is called comes with the program under test

assert average([4]) == 4
assert average([0]) == 0
assert average([1, 2]) == 1.5
assert average([-3, 3]) == 0
assert average([-1, -2]) == -1.5
assert average([0.25, 0.75]) == 0.5
assert average([10, 20, 30, 40]) == 25
assert average([7] * 1000) == 7
assert average([1, 0, 0, 0]) == 0.25
