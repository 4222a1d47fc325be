from __future__ import annotations

from typing import cast

import pytest

from treewright.sandbox.container.held import Bounds, Facts, missing

BOUNDS = Bounds(machine="x86_64", user=63001, memory_mb=100, tasks=66, scratch_mb=64)


HELD: Facts = {
    "machine": "x86_64",
    "user": 63001,
    "capable": False,
    "privileges_final": True,
    "filtered": True,
    "read_only": True,
    "networks": ["lo"],
    "memory": 100 << 20,
    "swap": 0,
    "tasks": 66,
    "scratch": 64 << 20,
}


def facts(**changes: object) -> Facts:
    return cast(Facts, {**HELD, **changes})  # keys of `Facts` by name


def test_nothing_is_missing_where_all_holds() -> None:
    assert missing(facts(), BOUNDS) == ""
    assert missing(facts(networks=[], memory=1, tasks=1, scratch=1), BOUNDS) == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"machine": "aarch64"}, "the image is for aarch64"),
        ({"user": 0}, "a user of its own"),
        ({"capable": True}, "capabilities"),
        ({"privileges_final": False}, "no-new-privileges"),
        ({"filtered": False}, "seccomp"),
        ({"read_only": False}, "root writable"),
        ({"networks": ["eth0", "lo"]}, "a network"),
        ({"memory": None}, "limit of memory (it needs control groups)"),
        ({"memory": (100 << 20) + 1}, "limit of memory"),
        ({"swap": None}, "from swap"),
        ({"swap": 1}, "from swap"),
        ({"tasks": None}, "limit of processes"),
        ({"tasks": 67}, "limit of processes"),
        ({"scratch": (64 << 20) + 1}, "size of the container's /tmp"),
    ],
)
def test_the_first_that_does_not_hold_is_named(changes: dict[str, object], said: str) -> None:
    assert said in missing(facts(**changes), BOUNDS)
