# ruff: noqa: F821 - the function that is called comes with the program under test

assert add(1, 1) == 2
assert add(7, 0) == 7
assert add(0, -9) == -9
assert add(-5, -6) == -11
assert add(-8, 8) == 0
assert add(0.5, 0.25) == 0.75
assert add(123456789, 987654321) == 1111111110
assert add(10**30, 1) == 10**30 + 1
