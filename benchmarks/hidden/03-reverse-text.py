# ruff: noqa: F821 - the function that is called comes with the program under test

assert backwards("x") == "x"
assert backwards("ab") == "ba"
assert backwards("aab") == "baa"
assert backwards(" lead") == "dael "
assert backwards("Two Words") == "sdroW owT"
assert backwards("12345") == "54321"
assert backwards("no\nline") == "enil\non"
assert backwards("öäü") == "üäö"
assert backwards("level") == "level"
