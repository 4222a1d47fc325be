"""Pack a text by writing long runs of one letter as a number and the letter."""

MAX_RUN = 9


def pack(text: str) -> str:
    """Return `text` with each run of three or more equal letters written as the run's length and the letter.

    Runs of one or two letters stay as they are, for packing would not make them shorter. A number is a single digit: a run
    of more than MAX_RUN letters is split, first into as many runs of MAX_RUN as fit, then the rest, which is treated like
    any other run. The text has letters only; upper and lower case are different letters.

    >>> pack("aaaabbc")
    '4abbc'
    """
    raise NotImplementedError


def test_short_runs_stay():
    assert pack("aabbc") == "aabbc"
    assert pack("") == ""


def test_long_runs_are_packed():
    assert pack("aaaabbccc") == "4abb3c"


def test_a_run_past_the_limit_is_split():
    rest = {10: "z", 11: "zz", 12: "3z"}
    for length, expected in rest.items():
        assert pack("z" * length) == "9z" + expected
