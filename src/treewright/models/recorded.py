"""`Recorded`: a call that a run has paid for once is never paid again.

The outermost wrapper. When a run is taken up again, the steps that were cut short start over and ask the same questions:
equal (node, role, attempt, request) get the recorded replies, in their order, and only then the model.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable

from treewright.core.events import ModelCalled
from treewright.models.base import Finish, Model, Reply, Request, Usage

_Key = tuple[str, str, int, str]


class Recorded:
    """A model that answers from the record first.

    Args:
        model: whom to ask what is not on record.
        calls: the run's calls so far, oldest first; failed ones are passed over.
    """

    def __init__(self, model: Model, calls: Iterable[ModelCalled] = ()) -> None:
        self._model = model
        self._record: defaultdict[_Key, deque[Reply]] = defaultdict(deque)
        for call in calls:
            if call.reply is not None:
                usage = Usage(call.input_tokens, call.output_tokens, call.cached_tokens)
                reply = Reply(call.reply, usage, _finish(call.finish))
                self._record[call.node, call.role, call.attempt, call.digest].append(reply)

    @property
    def name(self) -> str:
        """The wrapped model's name."""
        return self._model.name

    async def complete(self, request: Request) -> Reply:
        """The recorded reply if there is one that was not given out yet in this sitting, else the model's.

        Raises:
            ModelUnavailable: as the wrapped model.
            BudgetSpent: as the wrapped model; never for a recorded call.
        """
        caller = request.caller
        replies = self._record.get((caller.node, caller.role, caller.attempt, request.digest))
        if replies:
            return replies.popleft()
        return await self._model.complete(request)


def _finish(text: str) -> Finish:
    return "length" if text == "length" else "filter" if text == "filter" else "stop"
