# ruff: noqa: F821 - the function that is called comes with the program under test

assert is_palindrome("a") is True
assert is_palindrome("") is True
assert is_palindrome("ab") is False
assert is_palindrome("aa") is True
assert is_palindrome("noon") is True
assert is_palindrome("radar") is True
assert is_palindrome("abca") is False
assert is_palindrome("abcabc") is False
assert is_palindrome("stones") is False
assert is_palindrome("x" * 999) is True
assert is_palindrome("x" * 999 + "y") is False
