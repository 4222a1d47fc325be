# ruff: noqa: F821 - the function that is called comes with the program under test

assert free_gaps([], 10) == [[0, 10]]
assert free_gaps([], 0) == []
assert free_gaps([[0, 10]], 10) == []
assert free_gaps([[3, 3]], 10) == [[0, 10]]
assert free_gaps([[0, 0], [10, 10]], 10) == [[0, 10]]
assert free_gaps([[2, 9], [3, 4]], 12) == [[0, 2], [9, 12]]
assert free_gaps([[4, 6], [2, 4]], 8) == [[0, 2], [6, 8]]
assert free_gaps([[-5, 20]], 10) == []
assert free_gaps([[-9, -2], [12, 15]], 10) == [[0, 10]]
assert free_gaps([[8, 30], [-3, 1]], 10) == [[1, 8]]
assert free_gaps([[5, 6], [5, 6], [5, 7]], 7) == [[0, 5]]
assert free_gaps([[1, 2], [3, 4], [5, 6]], 6) == [[0, 1], [2, 3], [4, 5]]
assert free_gaps([[0, 9], [4, 4], [9, 9]], 20) == [[9, 20]]


def test_the_given_lists_stay_as_they_were():
    bookings = [[7, 8], [1, 6], [2, 3]]
    free_gaps(bookings, 9)
    assert bookings == [[7, 8], [1, 6], [2, 3]]
