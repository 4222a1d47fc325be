# ruff: noqa: F821 - the function that is called comes with the program under test

assert pack("a") == "a"
assert pack("aa") == "aa"
assert pack("aaa") == "3a"
assert pack("abc") == "abc"
assert pack("aaaA") == "3aA"
assert pack("aaAAAa") == "aa3Aa"
assert pack("xyyyyyyz") == "x6yz"
assert pack("b" * 9) == "9b"
assert pack("b" * 10) == "9bb"
assert pack("b" * 18) == "9b9b"
assert pack("b" * 20) == "9b9bbb"
assert pack("b" * 21 + "ccc") == "9b9b3b3c"
assert pack("ab" * 300) == "ab" * 300
