# ruff: noqa: F821 - the function that is called comes with the program under test

assert count_vowels("") == 0
assert count_vowels("a") == 1
assert count_vowels("E") == 1
assert count_vowels("xyz") == 0
assert count_vowels("aeiou") == 5
assert count_vowels("AEIOU") == 5
assert count_vowels("queue") == 4
assert count_vowels("Yellow fly") == 2
assert count_vowels("3 eggs, 1 Onion!") == 4
assert count_vowels("a" * 500) == 500
