"""Errors that are ours, split by whose fault they are. A candidate's failure is never one of them: it is an outcome.

    TreewrightError
      UserError             the caller asked for something impossible; the message says what and the way out   (exit 2)
      ModelUnavailable      no answer can be had from the language model                                       (exit 3)
      SandboxUnavailable    no program can be run                                                              (exit 3)
      JournalError          the record cannot be read or written                                               (exit 2)
      BudgetSpent           not a failure: the search stops here, resumable
      IllegalMove           a bug in a strategy or in the engine

Every message is one sentence for the person who reads it: it names the thing and the way out.
"""

from __future__ import annotations


class TreewrightError(Exception):
    """Base of all our errors; never raised itself."""

    exit_status = 1


class UserError(TreewrightError):
    """The caller's input is wrong: a task, an option, a name, a file."""

    exit_status = 2


class ModelUnavailable(TreewrightError):
    """The model cannot answer: unreachable, refused, no key, quota spent. The run stops and can be resumed."""

    exit_status = 3


class SandboxUnavailable(TreewrightError):
    """Programs cannot be run on this machine in the way that was asked for."""

    exit_status = 3


class JournalError(TreewrightError):
    """The journal cannot be opened, read or written: read-only, disk full, from a newer version, not a journal."""

    exit_status = 2


class BudgetSpent(TreewrightError):
    """A reservation does not fit into what is left of the budget, even after all refunds that may still come.

    Args:
        limit: the name of the limit that is reached, a field of `Spend` ("executions", "tokens", ...).
    """

    def __init__(self, limit: str) -> None:
        super().__init__(f"the budget of {limit} is spent")
        self.limit = limit


class IllegalMove(TreewrightError):
    """A node was moved in a way its life table does not allow."""
