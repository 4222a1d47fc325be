"""Training data from recorded runs (Tree-of-Code, section 3.2.3): one plain dictionary a row, in the chat format.

sft          what was asked and answered on the way to the programs that a run stands for
preference   a program that is right beside one that is not, from the same tree
reward       every program with what its execution came to

Whatever leaves here is free of secrets and of this machine's paths and names, as far as these can be recognised.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, Literal

from treewright.core.events import ModelCalled
from treewright.core.scrub import scrub
from treewright.core.secrets import without_secrets
from treewright.core.task import CodeTask
from treewright.core.tree import Node
from treewright.exporting.record import PROGRAMMERS, TURNS, WRITERS, Recorded, Shown, shown
from treewright.journal.base import Journal
from treewright.roles.codetree import statement

Format = Literal["sft", "preference", "reward"]
Row = dict[str, Any]
LICENCE = "unknown; check the licence of the task and the terms of the model"


def export(journal: Journal, runs: Iterable[str], form: Format, *, licence: str = LICENCE) -> Iterator[Row]:
    """The rows of `runs`, in their order and that of their records; none twice.

    A run that has not ended gives what it has. In memory are one run's tree at a time and a digest of each row.

    Args:
        journal: where they are recorded.
        runs: their ids.
        form: "sft", "preference" or "reward"; see the module.
        licence: goes into each row's metadata; nobody but the user can know it.

    Raises:
        UserError: no such run.
        JournalError: the record cannot be read.
    """
    rows_of = {"sft": _sft, "preference": _preference, "reward": _reward}[form]
    seen: set[bytes] = set()
    for run in dict.fromkeys(runs):
        for row in rows_of(Recorded(journal, run)):
            content = json.dumps({name: value for name, value in row.items() if name != "metadata"}, sort_keys=True)
            digest = blake2b(content.encode(), digest_size=16).digest()
            if digest not in seen:
                seen.add(digest)
                row["metadata"]["licence"] = licence
                yield row


def _sft(record: Recorded) -> Iterator[Row]:
    """Calls on the path of the chosen nodes; of programs only theirs, of a turn-by-turn run every turn that led there."""
    for call in record.calls():
        if call.node not in record.path or not _worth_learning(record, call):
            continue
        messages = [*_chat(call.messages), _said(call.reply or "")]
        yield {"messages": messages, "metadata": _metadata(record, call.node, call)}


def _worth_learning(record: Recorded, call: ModelCalled) -> bool:
    if call.role in PROGRAMMERS:
        return call.node in record.chosen
    if call.role in TURNS:
        seen = shown(record.past.tree.nodes[call.node])
        return seen is not None and bool(seen.program)
    return call.attempt == 0  # a second reply may have been unreadable like the first; a program shows whether it was


def _preference(record: Recorded) -> Iterator[Row]:
    """At most one pair for each program that failed: with a right one under the same messages, else to the same question."""
    winners: dict[bytes, tuple[str, str]] = {}  # what was asked -> node and reply, without the messages, which are long
    question = statement(record.spec.task) if isinstance(record.spec.task, CodeTask) else ""
    for call in record.calls():
        if call.role in PROGRAMMERS and call.node in record.chosen:
            winners.setdefault(_asked(call), (call.node, call.reply or ""))
        if not question and call.role == "programmer":
            question = call.messages[-1][1]
    if not winners:
        return
    best = record.past.tree.nodes[min(record.chosen, key=lambda node: (node.count("."), record.past.tree.nodes[node].path))]
    for call in record.calls():
        node = record.past.tree.nodes[call.node]
        seen = shown(node) if call.role in PROGRAMMERS else None
        if seen is None or seen.right or seen.reward is None or not seen.program:
            continue
        twin, reply = winners.get(_asked(call), ("", call.reply))
        if reply is not None and reply != call.reply:
            yield _pair(record, _chat(call.messages), reply, call.reply or "", (twin, node.id), "same_prompt")
        else:
            yield from _same_question(record, question, best, node)


def _same_question(record: Recorded, question: str, best: Node[Any, Any], node: Node[Any, Any]) -> Iterator[Row]:
    """The two programs alone: their replies answered different messages."""
    right, wrong = shown(best), shown(node)
    if right is None or wrong is None or not question or right.program.strip() == wrong.program.strip():
        return
    language = record.spec.task.language if isinstance(record.spec.task, CodeTask) else "python"
    chosen, rejected = (f"```{language}\n{program.strip()}\n```" for program in (right.program, wrong.program))
    yield _pair(record, _chat([("user", question)]), chosen, rejected, (best.id, node.id), "same_question")


def _pair(record: Recorded, prompt: list[Row], chosen: str, rejected: str, nodes: tuple[str, str], kind: str) -> Row:
    won, lost = (_reward_of(record, node) for node in nodes)
    told = {"rejected_node": nodes[1], "pair": kind, "chosen_reward": won, "rejected_reward": lost}
    return {
        "prompt": prompt,
        "chosen": [_said(chosen)],
        "rejected": [_said(rejected)],
        "metadata": _metadata(record, nodes[0]) | told,
    }


def _reward(record: Recorded) -> Iterator[Row]:
    """Every executed program with what came of it; none without visible tests or an end to tell by."""
    for call in record.calls():
        seen = shown(record.past.tree.nodes[call.node]) if call.role in WRITERS else None
        reward = _reward_of(record, call.node) if seen is not None else None
        if seen is not None and reward is not None:
            yield {
                "messages": _chat(call.messages),
                "completion": clean(call.reply or ""),
                "program": clean(seen.program),
                "reward": reward,
                "outcome": _outcome(seen),
                "metadata": _metadata(record, call.node, call),
            }


def _reward_of(record: Recorded, node: str) -> float | None:
    """Of its own execution; a turn has a part in what all turns came to."""
    seen = shown(record.past.tree.nodes[node])
    if record.spec.strategy in TURNS:
        return float(node in record.path)
    return None if seen is None or seen.reward is None else round(seen.reward, 6)


def _outcome(seen: Shown) -> Row:
    return {"status": seen.status, "result": clean(seen.result), "error": clean(seen.error)}


def _metadata(record: Recorded, node: str, call: ModelCalled | None = None) -> Row:
    spec, evaluation = record.spec, record.past.tree.nodes[node].evaluation
    told: Row = {"run_id": record.run, "node": node}
    if call is not None:
        told |= {"role": call.role}
    return told | {
        "strategy": spec.strategy,
        "model": clean((call.model if call is not None else spec.model).partition("@")[0]),  # behind it stands an address
        "task": clean(spec.task.name),
        "score": round(evaluation.score, 6) if evaluation is not None else None,
    }


def _chat(messages: Sequence[tuple[str, str]]) -> list[Row]:
    return [{"role": speaker, "content": clean(text)} for speaker, text in messages]


def _said(text: str) -> Row:
    return {"role": "assistant", "content": clean(text)}


def _asked(call: ModelCalled) -> bytes:
    """Equal for equal messages, whatever the seed."""
    return blake2b(json.dumps(call.messages).encode(), digest_size=16).digest()


def clean(text: str) -> str:
    """The text without secrets, and without paths and names of this machine."""
    return scrub(without_secrets(text))
