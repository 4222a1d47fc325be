"""Budgets that hold: what a call could cost at worst is reserved before it is made, and the rest given back after.

Pure arithmetic, no clock and no waiting. At every moment `spent + held + kept <= limits` in every dimension, so steps that run
side by side can never pass a limit together. `kept` is the part that only the answer may use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import Enum

from treewright.core.errors import BudgetSpent


@dataclass(frozen=True, slots=True)
class Spend:
    """An amount, in every dimension that can be limited. All are >= 0.

    Args:
        executions: nodes executed (a program written and run, a tool called): the papers' unit.
        calls: model calls tried, failed ones included.
        tool_calls: calls of a user's tool.
        tokens: input and output tokens of model calls together.
        dollars: price of model calls in US dollars.
        seconds: wall time of the search.
    """

    executions: int = 0
    calls: int = 0
    tool_calls: int = 0
    tokens: int = 0
    dollars: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            self.executions + other.executions,
            self.calls + other.calls,
            self.tool_calls + other.tool_calls,
            self.tokens + other.tokens,
            self.dollars + other.dollars,
            self.seconds + other.seconds,
        )

    def __sub__(self, other: Spend) -> Spend:
        return Spend(
            self.executions - other.executions,
            self.calls - other.calls,
            self.tool_calls - other.tool_calls,
            self.tokens - other.tokens,
            self.dollars - other.dollars,
            self.seconds - other.seconds,
        )


DIMENSIONS = tuple(f.name for f in fields(Spend))
NOTHING = Spend()
ONE_EXECUTION = Spend(executions=1)
ACCEPTED = "accepted"
FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that may be spent; None where there is no limit. Fields and units as in `Spend`."""

    executions: int | None = None
    calls: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    dollars: float | None = None
    seconds: float | None = None


class Fit(Enum):
    """Whether an amount can be reserved: now, after refunds that may still come, or never again."""

    NOW = "now"
    LATER = "later"
    NEVER = "never"


class Budget:
    """What one search may spend, has spent, and holds in reserve for work under way.

    Attributes:
        limits: the most that may be spent.
        spent: what was spent, for good.
        held: what is reserved for work under way.
        kept: what is kept aside for the answer, so that it can always be paid.
        closed: why nothing more may start ("" while open): the user asked to stop, a model is gone.
        on_change: called after every settlement and when the budget is closed; those who wait for a refund listen here.
    """

    def __init__(self, limits: Limits = Limits(), spent: Spend = Spend()) -> None:
        self.limits = limits
        self.spent = spent
        self.held = Spend()
        self.kept = Spend()
        self._under_way = 0
        self.closed = ""
        self.on_change: list[Callable[[], None]] = []
        self._bounds = [(name, bound) for name in DIMENSIONS if (bound := getattr(limits, name)) is not None]

    def fits(self, amount: Spend) -> tuple[Fit, str]:
        """Whether `amount` can be reserved, and the name of the limit in the way ("" if none)."""
        if self.closed:
            return Fit.NEVER, self.closed
        worst, blocked = Fit.NOW, ""
        for name, bound in self._bounds:
            if not getattr(amount, name):  # a limit that is reached stands in the way only of what would use more of it
                continue
            wanted = getattr(self.spent, name) + getattr(self.kept, name) + getattr(amount, name)
            if wanted > bound:
                return Fit.NEVER, name
            if wanted + getattr(self.held, name) > bound:
                worst, blocked = Fit.LATER, name
        return worst, blocked

    def reserve(self, amount: Spend) -> bool:
        """Set `amount` aside; False when only a refund still to come could make room for it.

        Raises:
            BudgetSpent: it will never fit, or the budget is closed.
        """
        fit, name = self.fits(amount)
        if fit is Fit.NEVER:
            raise BudgetSpent(name)
        if fit is Fit.LATER:
            return False
        if amount is not NOTHING:
            self.held = self.held + amount
            self._under_way += 1
        return True

    def settle(self, reserved: Spend, actual: Spend) -> None:
        """Give `reserved` back and spend `actual` instead.

        A provider that uses more than its worst case (it ignored `max_tokens`) is charged in full: what was spent was
        spent. That is the only way `spent` can pass a limit, and nothing is reserved any more from then on.
        """
        if reserved is not NOTHING:
            self._under_way -= 1
            # subtle: sums of floats drift; with nothing under way nothing is held, or somebody would wait for the rest.
            self.held = self.held - reserved if self._under_way else NOTHING
        self.spent = self.spent + actual
        self._changed()

    def keep(self, amount: Spend) -> None:
        """Keep `amount` aside for the answer.

        Raises:
            BudgetSpent: it does not fit.
        """
        fit, name = self.fits(amount)
        if amount is not NOTHING and fit is not Fit.NOW:
            raise BudgetSpent(name)
        self.kept = self.kept + amount

    def release(self) -> None:
        """Let the answer have what was kept for it. A budget closed because a node was accepted opens again."""
        self.kept = Spend()
        if self.closed == ACCEPTED:
            self.closed = ""

    def close(self, why: str) -> None:
        """Let nothing more start. Work under way goes on to its end and is charged. The first reason stays."""
        self.closed = self.closed or why
        self._changed()

    def passed(self, kept: Spend = NOTHING) -> str:
        """The first limit that was passed already, or that leaves no second beside the `kept` ones; "" if none."""
        for name, bound in self._bounds:
            used = getattr(self.spent, name)
            if used > bound or (name == "seconds" and used + kept.seconds >= bound):
                return name
        return ""

    def left(self, name: str) -> float | None:
        """What could still be reserved now in one dimension; None without a limit."""
        bound: float | None = getattr(self.limits, name)
        if bound is None:
            return None
        used: float = getattr(self.spent, name) + getattr(self.held, name) + getattr(self.kept, name)
        return max(0.0, bound - used)

    def _changed(self) -> None:
        for listener in tuple(self.on_change):
            listener()
