def even_numbers(numbers):
    """Return a list of the even numbers in `numbers`, in the same order.

    >>> even_numbers([5, 8, 2, 7])
    [8, 2]
    """


assert even_numbers([5, 8, 2, 7]) == [8, 2]
assert even_numbers([1, 3]) == []
assert even_numbers([0, -4, -3, 6]) == [0, -4, 6]
