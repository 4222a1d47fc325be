# ruff: noqa: F821 - the function that is called comes with the program under test

assert fewest_stamps({}, 0) == 0
assert fewest_stamps({}, 1) is None
assert fewest_stamps({5: 0}, 5) is None
assert fewest_stamps({5: 1}, 5) == 1
assert fewest_stamps({5: 1}, 10) is None
assert fewest_stamps({5: 3}, 0) == 0
assert fewest_stamps({10: 1, 6: 2, 1: 2}, 12) == 2
assert fewest_stamps({25: 1, 10: 3, 1: 4}, 30) == 3
assert fewest_stamps({3: 1, 5: 1, 8: 1}, 16) == 3
assert fewest_stamps({3: 2, 5: 2}, 17) is None
assert fewest_stamps({6000: 1, 2: 2}, 4) == 2
assert fewest_stamps({7: 5, 11: 5}, 60) is None
assert fewest_stamps({7: 5, 11: 5}, 61) == 7
assert fewest_stamps({1: 5000}, 5000) == 5000
assert fewest_stamps(dict.fromkeys(range(2, 82, 2), 5000), 4999) is None
assert fewest_stamps(dict.fromkeys(range(61, 101), 5000), 5000) == 50
