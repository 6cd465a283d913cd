"""Ways to copy an agent, and traces that must be equal."""

import copy
import dataclasses
import pickle

import numpy as np

WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda agent: pickle.loads(pickle.dumps(agent)),
}


def assert_same(first, second):
    """Of two traces: all columns."""
    for field in dataclasses.fields(first):
        np.testing.assert_array_equal(getattr(first, field.name), getattr(second, field.name))
