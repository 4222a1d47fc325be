from itertools import groupby


def pack(text):
    packed = []
    for letter, run in groupby(text):
        full, rest = divmod(len(list(run)), 9)
        packed.append(f"9{letter}" * full)
        packed.append(f"{rest}{letter}" if rest > 2 else letter * rest)
    return "".join(packed)
