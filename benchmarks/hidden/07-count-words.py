# ruff: noqa: F821 - the function that is called comes with the program under test

assert count_words("word") == 1
assert count_words(" ") == 0
assert count_words("     ") == 0
assert count_words(" lead") == 1
assert count_words("trail ") == 1
assert count_words("a b") == 2
assert count_words("a  b") == 2
assert count_words("one, two; three!") == 3
assert count_words("7 8 9 10") == 4
assert count_words("it's a two-part word") == 4
assert count_words("ha " * 500) == 500
