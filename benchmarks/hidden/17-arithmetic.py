# ruff: noqa: F821 - the function that is called comes with the program under test

assert evaluate("0") == 0
assert evaluate(" 42 ") == 42
assert evaluate("2+3*4") == 14
assert evaluate("(2+3)*4") == 20
assert evaluate("10-4-3") == 3
assert evaluate("100/10/5") == 2
assert evaluate("-7/2") == -3
assert evaluate("7/-2") == -3
assert evaluate("-7 % 2") == -1
assert evaluate("7 % -2") == 1
assert evaluate("2*7%4") == 2
assert evaluate("-2^2") == 4
assert evaluate("0-2^2") == -4
assert evaluate("--3") == 3
assert evaluate("2--3") == 5
assert evaluate("2 * - - 3") == 6
assert evaluate("-(1+2)^3") == -27
assert evaluate("2^3^2") == 512
assert evaluate("5^0") == 1
assert evaluate("1^-0") == 1
assert evaluate("((((3))))") == 3
assert evaluate("99999999999999999999/3") == 33333333333333333333
assert evaluate("-99999999999999999999/7") == -14285714285714285714
assert evaluate("2^100") == 2**100
assert refuses(evaluate, "")
assert refuses(evaluate, "()")
assert refuses(evaluate, "1 2")
assert refuses(evaluate, "(1")
assert refuses(evaluate, "1)")
assert refuses(evaluate, "+1")
assert refuses(evaluate, "2 ** 3")
assert refuses(evaluate, "3 % 0")
assert refuses(evaluate, "1/(2-2)")
assert refuses(evaluate, "2^-1")
assert refuses(evaluate, "2^(1-2)")
assert refuses(evaluate, "3(4)")
assert refuses(evaluate, "1.5")
assert refuses(evaluate, "1_000")
assert refuses(evaluate, "x")
