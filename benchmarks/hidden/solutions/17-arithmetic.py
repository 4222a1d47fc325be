import re


def evaluate(text):
    tokens = re.findall(r"\d+|\S", text)
    position = 0

    def accept(*symbols):
        nonlocal position
        if position < len(tokens) and tokens[position] in symbols:
            position += 1
            return tokens[position - 1]
        return None

    def operand():
        nonlocal position
        if accept("-"):
            return -operand()
        if accept("("):
            value = total()
            if not accept(")"):
                raise ValueError("a parenthesis is not closed")
            return value
        if position == len(tokens) or not tokens[position].isdecimal():
            raise ValueError("a number is missing")
        position += 1
        return int(tokens[position - 1])

    def power():
        base = operand()
        if not accept("^"):
            return base
        exponent = power()
        if exponent < 0:
            raise ValueError("a power must not be negative")
        return base**exponent

    def product():
        value = power()
        while symbol := accept("*", "/", "%"):
            other = power()
            if symbol == "*":
                value *= other
                continue
            if other == 0:
                raise ValueError("division by zero")
            quotient = abs(value) // abs(other) * (1 if (value < 0) == (other < 0) else -1)
            value = quotient if symbol == "/" else value - quotient * other
        return value

    def total():
        value = product()
        while symbol := accept("+", "-"):
            value += product() if symbol == "+" else -product()
        return value

    result = total()
    if position < len(tokens):
        raise ValueError(f"{tokens[position]!r} is not expected")
    return result
