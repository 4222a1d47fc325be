"""The four roles: what they are told, how long that is, and that nothing of this machine is in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codetree_lab import ALL, NOISE, TASK, fenced, numbered, report, said
from leaky_machine import LEAKS, SECRETS, lived_in_by
from treewright.core.task import CodeTask, Example
from treewright.models.base import Reply, Request
from treewright.roles.asking import Asker
from treewright.roles.codetree import Attempt, Critic, Debugger, Opinion, Solver, Thinker, feedback, statement
from treewright.sandbox.harness import Report, TestResult

CODE = "def f(x):\n    return x\n"
TRIED = Attempt("count down", CODE, report(1), "The last case is wrong.")
NODE = "0.1"


class Model:
    """Gives one reply after the other, the last one again and again."""

    name = "model"

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        return Reply(self.replies[min(len(self.requests), len(self.replies)) - 1])

    @property
    def asked(self) -> str:
        return said(self.requests[0])


def thinker(model: Model) -> Thinker:
    return Thinker(Asker(model, 5), 0.5)


# The statement.


def test_the_statement_is_the_prompt_the_name_and_the_tests() -> None:
    text = statement(CodeTask("  Add one.\n", tests=["assert f(1) == 2", " assert f(2) == 3\n"], entry_point="f"))
    assert text == "Add one.\n\nName it `f`.\n\nIt must pass tests such as:\nassert f(1) == 2\nassert f(2) == 3"


def test_what_the_prompt_says_already_is_not_said_twice() -> None:
    prompt = 'def f(x):\n    """Add one.\n\n    >>> f(1)\n    assert f(1) == 2\n    """'
    task = CodeTask(prompt, tests=["assert f(1) == 2", "assert f(2) == 3", "assert f(2) == 3"], entry_point="f")
    text = statement(task)
    assert [text.count(test) for test in task.tests] == [1, 1, 1]
    assert "Name it" not in text
    assert statement(replace(task, tests=["assert f(1) == 2"])) == prompt


def test_what_only_looks_as_if_the_prompt_said_it_is_said() -> None:
    assert "Name it `add`." in statement(CodeTask("Give additional sums.", entry_point="add"))
    assert "Name it" not in statement(CodeTask("Write `add`.", entry_point="add"))
    text = statement(CodeTask("Double 1 to get 2.", examples=[Example("1", "2")]))
    assert "Input:\n1\nOutput:\n2" in text


def test_setup_is_shown_where_the_prompt_lacks_it() -> None:
    task = CodeTask("Add one.", setup="import math\n")
    assert "```python\nimport math\n```" in statement(task)
    assert "stands before" not in statement(replace(task, prompt="Add one. You have:\nimport math"))


def test_a_whole_program_is_shown_its_examples_by_the_number_they_have_in_reports() -> None:
    examples = [Example("1 2\n", "3\n"), Example("4\n", ""), Example("", "0\n")]
    text = statement(CodeTask("Sum up.", examples=examples))
    assert "standard input" in text
    assert text.endswith("Examples:\nExample 1\nInput:\n1 2\nOutput:\n3\nExample 3\nInput:\n\nOutput:\n0")


def test_examples_that_the_prompt_shows_are_not_shown_twice() -> None:
    prompt = "Sum up 3 numbers.\n\nInput\n  1 2\n  3\nOutput\n  6\n"
    examples = [Example("1 2\n3\n", "6\n"), Example("1 2\n3", "16")]
    text = statement(CodeTask(prompt, examples=examples))
    assert "Example 1" not in text
    assert text.endswith("Example 2\nInput:\n1 2\n3\nOutput:\n16")


@pytest.mark.parametrize("kind", ["tests", "examples"])
def test_tests_are_shown_up_to_a_bound_and_the_rest_is_counted(kind: str) -> None:
    many = [f"assert f({k:03}) == {'1' * 80}" for k in range(100)]
    huge = ["assert f('" + "x" * 1_000_000 + "') == 1", "assert f(1) == 1"]
    for texts in (many, huge):
        if kind == "tests":
            task = CodeTask("Do.", tests=texts)
        else:
            task = CodeTask("Do.", examples=[Example(text, "1") for text in texts])
        shown = statement(task)
        listed = shown.partition("such as:\n" if kind == "tests" else "Examples:\n")[2].rpartition("\n")[0]
        assert 1800 < len(listed) <= 2000
        assert "more" in shown
    assert statement(CodeTask("Do.", tests=many)).count("assert") == 2000 // (len(many[0]) + 1)


# Feedback.


def test_feedback_names_failed_tests_first_with_what_came_and_then_passed_ones() -> None:
    results = (
        TestResult("assert f(1) == 1", "pass"),
        TestResult("assert f(2) == 4", "fail", expected="4", actual="2"),
        TestResult("assert f(3) == 9", "error", detail="ZeroDivisionError: division by zero\nprogram.py, line 2"),
        TestResult("assert f(4) == 16", "timeout", detail="longer than 2 s"),
        TestResult("assert f(5)", "fail", actual="False"),
        TestResult("assert f(6)", "memory"),
    )
    assert feedback(Report(results)) == (
        "Passed 1 of 6 tests.\n"
        "Failed:\n"
        "assert f(2) == 4\n    expected: 4\n    actual: 2\n"
        "assert f(3) == 9\n    error: ZeroDivisionError: division by zero\nprogram.py, line 2\n"
        "assert f(4) == 16\n    timeout: longer than 2 s\n"
        "assert f(5)\n    actual: False\n"
        "assert f(6)\n    memory: no detail\n"
        "Passed:\n"
        "assert f(1) == 1"
    )


def test_feedback_on_a_program_that_does_not_run_is_the_error() -> None:
    text = feedback(Report((TestResult("t", "error"),), error="SyntaxError: '(' was never closed"))
    assert text == "The program does not run:\nSyntaxError: '(' was never closed"


def test_feedback_without_tests_says_so() -> None:
    assert "no tests" in feedback(Report(()))


def test_feedback_names_a_failed_test_and_what_came_however_long_all_of_it_is() -> None:
    long = "x" * 100_000
    one = TestResult(f"assert f('{long}') == 1", "fail", expected=long, actual=f"wrong{long}")
    text = feedback(Report((*[TestResult(f"assert p({k})", "pass") for k in range(1000)], one, one)))
    assert (
        text.index("Failed:")
        < text.index("assert f('xxx")
        < text.index("actual: wrongxxx")
        < text.index("Passed:\nassert p(0)")
    )
    assert len(text) <= 2500


def test_feedback_shows_many_failed_tests_and_counts_the_rest() -> None:
    failed = [TestResult(f"assert f({k:04}) == 1", "fail", expected="1", actual="2") for k in range(5000)]
    text = feedback(Report((*failed, TestResult("assert ok()", "pass"))))
    assert text.startswith("Passed 1 of 5001 tests.\nFailed:\nassert f(0000) == 1\n")
    assert text.count("actual: 2") > 20
    assert "more\nPassed:\nassert ok()" in text
    assert len(text) <= 2500


def test_feedback_on_many_small_tests_is_bounded_too() -> None:
    small = [TestResult("t", "fail", actual=""), TestResult("assert ok(1)", "pass")] * 1000
    assert 2400 < len(feedback(Report(tuple(small)))) <= 2500


words = st.text(max_size=30) | st.integers(0, 5000).map("x".__mul__)
verdicts = st.sampled_from(["pass", "fail", "error", "timeout", "memory"])
results = st.builds(TestResult, words, verdicts, words, words, words)


@settings(deadline=None, max_examples=200)
@given(st.lists(results, max_size=40), words | st.just(""))
def test_feedback_is_never_longer_than_2500_characters(tests: list[TestResult], error: str) -> None:
    assert 0 < len(feedback(Report(tuple(tests), error=error))) <= 2500


@settings(deadline=None, max_examples=100)
@given(st.lists(words, max_size=30), words)
def test_the_statement_is_the_prompt_and_a_bounded_rest(tests: list[str], prompt: str) -> None:
    text = statement(CodeTask(f"Do: {prompt}", tests=tests, entry_point="f"))
    assert text.startswith("Do:")
    assert len(text) <= len(prompt) + 2200


# Thinker, Solver, Debugger.


def test_the_thinker_is_told_how_many_strategies_and_which_are_known() -> None:
    model = Model(numbered("Sort it", "Count it", "Guess it"))
    found = asyncio.run(thinker(model).strategies(TASK, NODE, most=2))
    assert found == ["Sort it", "Count it"]
    assert "as many as are worth trying, at most 2" in model.asked
    assert "known already" not in model.asked
    model = Model(numbered("Sort it"))
    asyncio.run(thinker(model).strategies(TASK, NODE, most=2, exactly=True, known=["Guess", "Ask"]))
    assert "exactly 2" in model.asked
    assert "These are known already:\n- Guess\n- Ask\n" in model.asked


def test_the_thinker_reflects_on_strategy_program_results_and_review() -> None:
    model = Model(numbered("Count up"))
    assert asyncio.run(thinker(model).reflections(TASK, NODE, TRIED, most=3)) == ["Count up"]
    for part in ("Write f.", "Strategy: count down", fenced(CODE), feedback(TRIED.report), "Review:\nThe last case is wrong."):
        assert part in model.asked
    assert "one plan, or several different ones, at most 3" in model.asked
    bare = Model(numbered("Count up"))
    asyncio.run(thinker(bare).reflections(TASK, NODE, Attempt("", CODE, report(1)), most=3, exactly=True))
    assert "Strategy:" not in bare.asked
    assert "Review:" not in bare.asked
    assert "exactly 3 different plans" in bare.asked


def test_the_solver_is_told_the_strategy_or_nothing_of_one() -> None:
    for strategy in ("sort it", ""):
        model = Model(f"Sure.\n{fenced(CODE)}")
        assert asyncio.run(Solver(Asker(model)).program(TASK, NODE, strategy)) == CODE
        assert ("Follow this strategy: sort it" in model.asked) == bool(strategy)
        assert "strategy" in model.asked or not strategy


def test_the_solver_can_be_warm_for_one_call() -> None:
    model = Model(fenced(CODE))
    solver = Solver(Asker(model), 0.4)
    asyncio.run(solver.program(TASK, NODE, "x", temperature=1.0))
    asyncio.run(solver.program(TASK, NODE, "x", temperature=0.0))
    asyncio.run(solver.program(TASK, NODE, "x"))
    assert [request.temperature for request in model.requests] == [1.0, 0.0, 0.4]


@pytest.mark.parametrize("sees_review", [True, False])
def test_the_debugger_sees_the_review_or_not(sees_review: bool) -> None:
    model = Model(fenced("def f(x):\n    return 2\n"))
    debugger = Debugger(Asker(model), sees_review, 0.1)
    assert asyncio.run(debugger.program(TASK, NODE, TRIED, "count up")) == "def f(x):\n    return 2\n"
    shown = [message.text for message in model.requests[0].messages]
    assert shown[1] == statement(TASK)
    assert shown[2] == fenced(CODE)
    assert shown[3].startswith(f"Test results:\n{feedback(TRIED.report)}")
    assert ("The last case is wrong." in shown[3]) == sees_review
    assert "count up" in shown[4]


def test_other_languages_are_asked_for_and_read() -> None:
    task = CodeTask("Sum up.", examples=[Example("1", "1")], language="rust")
    model = Model("```rust\nfn main() {}\n```")
    assert asyncio.run(Solver(Asker(model)).program(task, NODE, "")) == "fn main() {}\n"
    assert "```rust" in model.asked
    assert "Write a whole program in rust, in one file: it reads" in statement(task)


def test_a_java_program_is_asked_for_with_the_class_that_is_run() -> None:
    assert "in one file with class Main: it reads" in statement(CodeTask("p", examples=[Example("1", "1")], language="Java"))
    assert "Write a whole program: it reads" in statement(CodeTask("p", examples=[Example("1", "1")], language="py"))


# Critic.


def test_the_critic_scores_outputs_and_strategies_and_its_words_are_the_review() -> None:
    model = Model("Nearly.\nScore: 4/5")
    critic = Critic(Asker(model), 0.2)
    assert asyncio.run(critic.score_outputs(TASK, NODE, TRIED)) == Opinion(4, "Nearly.\nScore: 4/5")
    assert asyncio.run(critic.score_strategy(TASK, NODE, TRIED)) == Opinion(4, "Nearly.\nScore: 4/5")
    outputs, strategy = map(said, model.requests)
    for part in ("Write f.", fenced(CODE), feedback(TRIED.report)):
        assert part in outputs
        assert part in strategy
    assert "count down" in strategy
    assert "count down" not in outputs


def test_the_critic_verifies() -> None:
    for word, value in (("True", 1), ("False", 0)):
        model = Model(f"I looked.\n{word}")
        tried = Attempt("", CODE, report(ALL))
        assert asyncio.run(Critic(Asker(model)).verify(TASK, NODE, tried)) == Opinion(value, f"I looked.\n{word}")
        assert "tests it has not seen" in model.asked


# All of them.

ROLES: dict[str, Callable[[Asker, CodeTask, Attempt], Awaitable[object]]] = {
    "thinker.strategies": lambda ask, task, tried: Thinker(ask).strategies(task, NODE, most=3, known=[tried.idea]),
    "thinker.reflections": lambda ask, task, tried: Thinker(ask).reflections(task, NODE, tried, most=3),
    "solver": lambda ask, task, tried: Solver(ask).program(task, NODE, tried.idea),
    "debugger": lambda ask, task, tried: Debugger(ask).program(task, NODE, tried, tried.idea),
    "critic.outputs": lambda ask, task, tried: Critic(ask).score_outputs(task, NODE, tried),
    "critic.strategy": lambda ask, task, tried: Critic(ask).score_strategy(task, NODE, tried),
    "critic.verification": lambda ask, task, tried: Critic(ask).verify(task, NODE, tried),
}


def perform(role: str, model: Model, task: CodeTask = TASK, tried: Attempt = TRIED) -> object:
    async def asked() -> object:
        return await ROLES[role](Asker(model, 5), task, tried)

    return asyncio.run(asked())


@pytest.mark.parametrize("role", sorted(ROLES))
def test_a_role_that_cannot_be_read_twice_has_no_opinion(role: str) -> None:
    model = Model(NOISE)
    assert perform(role, model) in (None, Opinion(None))
    assert [request.caller.role for request in model.requests] == [role, role]
    assert [request.caller.attempt for request in model.requests] == [0, 1]


@pytest.mark.parametrize("role", sorted(ROLES))
def test_a_role_states_the_form_of_the_reply_at_first_and_again_in_the_repair_ask(role: str) -> None:
    model = Model(NOISE)
    perform(role, model)
    form = model.requests[1].messages[-1].text.partition(". ")[2]
    assert len(form) > 20
    assert form in model.asked


@pytest.mark.parametrize("role", sorted(ROLES))
def test_every_chat_begins_with_a_system_message_and_then_takes_turns(role: str) -> None:
    model = Model(NOISE)
    perform(role, model)
    for request in model.requests:
        speakers = [message.speaker for message in request.messages]
        assert speakers[0] == "system"
        assert speakers[1:] == ["user", "assistant"] * ((len(speakers) - 2) // 2) + ["user"]
        assert all(message.text.strip() for message in request.messages)


@pytest.fixture
def machine() -> Iterator[None]:
    with lived_in_by("mirabelle", "quetsche.lan", cwd="/scratch/orchard"):
        yield


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("role", sorted(ROLES))
@pytest.mark.parametrize("broken", [True, False])
def test_nothing_of_this_machine_is_sent_wherever_it_stands(role: str, broken: bool) -> None:
    leak = "\n".join(LEAKS)
    task = CodeTask(f"Write f.\n{leak}", tests=[f"assert f(1) == '''{leak}'''"], setup=f"# {leak}", entry_point="f")
    failed = TestResult(f"assert f('{LEAKS[2]}')", "error", leak, leak, leak)
    wrong = TestResult(f"assert f('{LEAKS[3]}')", "fail", leak, leak, leak)
    tried = Attempt(leak, f"# {leak}\n{CODE}", Report((wrong, failed), error=leak if broken else "", stdout=leak), leak)
    model = Model(f"{NOISE}\n{leak}")
    perform(role, model, task, tried)
    assert len(model.requests) == 2
    for request in model.requests:
        assert [secret for secret in SECRETS if secret in said(request)] == []
    assert "x.py" in said(model.requests[1]), "what matters is still there"


@pytest.mark.parametrize("role", sorted(ROLES))
def test_prompts_are_bounded_whatever_the_report_the_review_and_the_tests(role: str) -> None:
    long = "x" * 200_000
    task = CodeTask("Write f.", tests=[f"assert f('{long}') == 1", f"assert f('{long}') == 2"], entry_point="f")
    huge = Report(tuple(TestResult(long, "fail", long, long, long) for _ in range(50)), stdout=long)
    model = Model(NOISE)
    perform(role, model, task, Attempt("count down", CODE, huge, long))
    assert len(model.asked) < 10_000
