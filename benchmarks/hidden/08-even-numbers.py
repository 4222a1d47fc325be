# ruff: noqa: F821 - the function that is called comes with the program under test

assert even_numbers([]) == []
assert even_numbers([2]) == [2]
assert even_numbers([7]) == []
assert even_numbers([0]) == [0]
assert even_numbers([-2, -1]) == [-2]
assert even_numbers([6, 4, 2]) == [6, 4, 2]
assert even_numbers([4, 4, 5, 4]) == [4, 4, 4]
assert even_numbers([10**20, 10**20 + 1]) == [10**20]
assert even_numbers(list(range(7))) == [0, 2, 4, 6]


def test_the_given_list_stays_as_it_was():
    numbers = [1, 2, 3, 4]
    assert even_numbers(numbers) == [2, 4]
    assert numbers == [1, 2, 3, 4]
