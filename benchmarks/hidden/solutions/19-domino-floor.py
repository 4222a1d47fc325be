def tilings(floor):
    rows = [list(row) for row in floor]
    if not rows or not rows[0]:
        return 1
    if len(rows[0]) > len(rows):
        rows = [list(column) for column in zip(*rows, strict=True)]
    width = len(rows[0])
    # One square after another. A state holds, for the last `width + 1` squares, which part of a tile each is:
    # L and R of a flat tile, T and B of an upright one, or # for a pillar (and for what lies outside).
    states = {("#" * (width + 1)): 1}
    for row in rows:
        for column, square in enumerate(row):
            following = {}
            for state, ways in states.items():
                upper_left, upper, left = state[0], state[1], state[-1]
                if column == 0:
                    upper_left = left = "#"
                for part in parts(square, upper, left):
                    if column == width - 1 and part == "L":
                        continue
                    if not meets_in_a_point(upper_left, upper, left, part):
                        key = state[1:] + part
                        following[key] = following.get(key, 0) + ways
            states = following
    return sum(ways for state, ways in states.items() if "T" not in state[1:])


def parts(square, upper, left):
    if upper == "T" or left == "L":
        if square == "#" or (upper == "T" and left == "L"):
            return ""
        return "B" if upper == "T" else "R"
    return "#" if square == "#" else "LT"


def meets_in_a_point(upper_left, upper, left, part):
    if "#" in (upper_left, upper, left, part):
        return False
    joined = (upper_left == "L", upper_left == "T", upper == "T", left == "L")
    return not any(joined)
