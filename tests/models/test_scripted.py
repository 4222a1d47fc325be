"""`Scripted`: the first unused row that matches answers, once; failures are those of a provider."""

import asyncio
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import virtual_time
from treewright.core.errors import ModelUnavailable
from treewright.models.base import Message, ModelError, Reply, Request
from treewright.models.script_rows import Row
from treewright.models.scripted import Scripted, scripted_file


def asked(text: str, *, max_tokens: int = 100) -> Request:
    return Request((Message("system", "never looked at"), Message("user", text)), max_tokens=max_tokens)


def say(model: Scripted, text: str) -> str:
    return asyncio.run(model.complete(asked(text))).text


def test_rows_without_when_answer_in_their_order() -> None:
    model = Scripted(["one", "two"])
    assert [say(model, "x"), say(model, "y")] == ["one", "two"]


def test_a_row_answers_only_a_last_message_in_which_its_pattern_is_found() -> None:
    model = Scripted([Row("for b", when="b+$"), Row("for anything")])
    assert say(model, "never looked at") == "for anything"
    assert say(model, "abb") == "for b"


def test_the_first_matching_row_wins_whatever_its_pattern() -> None:
    model = Scripted([Row("first", when="a"), Row("second"), Row("third", when="a")])
    assert [say(model, "a"), say(model, "a"), say(model, "a")] == ["first", "second", "third"]


def test_a_row_is_used_up() -> None:
    model = Scripted([Row("once", when="q")])
    say(model, "q")
    with pytest.raises(ModelUnavailable, match="1 of 1 rows are used"):
        say(model, "q")


def test_no_row_left_names_the_file_the_count_and_the_first_line_of_the_message(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text('{"reply": "x", "when": "^never$"}\n')
    with pytest.raises(ModelUnavailable) as caught:
        say(scripted_file(path), "\nWrite it.\nMore.")
    for part in ("replies.jsonl", "0 of 1", "Write it."):
        assert part in str(caught.value)
    assert "More" not in str(caught.value)


@pytest.mark.parametrize(("fail", "fault"), [("429", "rate"), ("500", "server"), ("cut", "garbled")])
def test_a_failing_row_raises_what_a_provider_would_and_is_used_up(fail: str, fault: str) -> None:
    model = Scripted([Row(fail=fail, retry_after=7.0), "then"])  # type: ignore[arg-type]  # parametrized
    with pytest.raises(ModelError) as caught:
        say(model, "x")
    assert caught.value.fault == fault
    assert caught.value.retry_after == (7.0 if fail == "429" else None)
    assert say(model, "x") == "then"


def test_latency_and_a_hang_take_their_time() -> None:
    async def times() -> list[float]:
        clock = asyncio.get_running_loop().time
        model = Scripted([Row("late", latency_s=3.0), Row(fail="hang")], timeout_s=60.0)
        await model.complete(asked("x"))
        first = clock()
        with pytest.raises(ModelError, match="within 60 s") as caught:
            await model.complete(asked("x"))
        assert caught.value.fault == "timeout"
        return [first, clock() - first]

    assert virtual_time.run(times()) == [3.0, 60.0]


def test_a_hang_can_be_cancelled() -> None:
    async def cancel() -> None:
        call = asyncio.ensure_future(Scripted([Row(fail="hang")]).complete(asked("x")))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(cancel())


def test_usage_is_four_characters_a_token_and_the_same_for_equal_calls() -> None:
    reply = asyncio.run(Scripted(["12345"]).complete(Request((Message("user", "123456789"),))))
    assert (reply.usage.input, reply.usage.output, reply.usage.cached, reply.estimated) == (3, 2, 0, False)


def test_a_reply_past_max_tokens_is_cut_and_says_so() -> None:
    reply = asyncio.run(Scripted(["x" * 100]).complete(asked("q", max_tokens=5)))
    assert (reply.text, reply.usage.output, reply.finish) == ("x" * 20, 5, "length")


def test_use_up_takes_the_rows_of_an_earlier_sitting() -> None:
    model = Scripted(["a", Row("b", when="z"), "a", Row(fail="500"), "c"])
    model.use_up(["b", "a", "unknown"])
    assert model.used == 2
    assert say(model, "z") == "a"


def test_use_up_passes_over_rows_that_are_used_up_already() -> None:
    model = Scripted(["a", "a", "b"])
    say(model, "x")
    model.use_up(["a"])
    assert say(model, "x") == "b"


def test_threads_never_get_the_same_row() -> None:
    rows = [str(number) for number in range(400)]
    model = Scripted(rows)
    got: list[str] = []

    def draw() -> None:
        for _ in range(100):
            got.append(say(model, "x"))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted(rows)


@given(st.lists(st.sampled_from([None, "a", "b", "[ab]"]), max_size=12), st.text("ab", min_size=1, max_size=12))
def test_it_agrees_with_a_plain_search_for_the_first_unused_match(patterns: list[str | None], calls: str) -> None:
    import re

    rows = [Row(str(index), when=pattern) for index, pattern in enumerate(patterns)]
    left = list(rows)
    model = Scripted(rows)
    for call in calls:
        first = next((row for row in left if row.when is None or re.search(row.when, call)), None)
        if first is None:
            with pytest.raises(ModelUnavailable):
                say(model, call)
        else:
            left.remove(first)
            assert say(model, call) == first.reply


def test_many_distinct_rows_do_not_slow_a_call_down() -> None:
    async def draw(count: int) -> list[Reply]:
        model = Scripted([str(number) for number in range(count)])
        return [await model.complete(asked("x")) for _ in range(count)]

    assert [reply.text for reply in asyncio.run(draw(20_000))][-1] == "19999"
