"""Swissmetro: which of train, Swissmetro and car people said they would take (Bierlaire, Axhausen and Abay 2001)."""

from __future__ import annotations

import gzip

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac.data.classification import Classification
from unipac.data.files import content
from unipac.data.tables import columns
from unipac.envs import BanditInstance
from unipac.envs.arrays import read_only

ALTERNATIVES = ("train", "Swissmetro", "car")
"""In the order of the actions.

>>> ALTERNATIVES.index("car")
2
"""

HOURS, HUNDREDS = 60.0, 100.0


class Offers(BanditInstance):
    """Each alternative has features of its own; the one that was taken pays 1.

    Attributes:
        offers: the vectors of every sample, (N, n, d), read-only.
        hits: what they pay, (N, n), read-only.
    """

    def __init__(self, name: str, offers: Array, hits: Array) -> None:
        self.offers, self.hits = read_only(offers), read_only(hits)
        _, n, d = offers.shape
        best = np.linalg.lstsq(offers.reshape(-1, d), hits.ravel())[0]
        super().__init__(name, d, n, norm=max(1.0, float(np.linalg.norm(best))), noise=0.5)

    def _contexts(self, index: int, rng: np.random.Generator, actions: Array, means: Array) -> None:
        samples = rng.integers(len(self.offers), size=self.block)
        actions[:] = self.offers[samples]
        means[:] = self.hits[samples]

    def _noise(self, rng: np.random.Generator) -> Array:
        return np.zeros(self.block)


def swissmetro(model: str = "shared") -> BanditInstance:
    """10,719 choices between train, Swissmetro and car, as a bandit with three actions that pay 1 if they were chosen.

    Each round shows one of the choices, drawn uniformly with the seed of ``rounds``. The first call needs ``unipac data
    get swissmetro``.

    - "shared": an alternative has the features travel time, cost, headway, whether it is first class, whether it has
      airline seats, and a constant of its own and its products with four facts about the traveller; one parameter for
      all. Where there is no car (16 percent), its place is taken by the train once more: the action sets change.
    - "blocks": the context, all times, costs and facts together, in a block for each alternative, so that each of them
      has a model of its own. A car that is not available is offered and pays 0; whether it is is part of the context.

    Vectors are divided by the largest norm among them. The expected reward is not linear: `theta` is None, and `norm`
    is that of the best linear predictor. `noise` is 1/2, the sub-Gaussian scale of any reward in [0, 1].

    Args:
        model: "shared" or "blocks".

    Raises:
        FileNotFoundError: if the file is missing; says how to get it.

    Example:
        >>> swissmetro(model="own")
        Traceback (most recent call last):
        ValueError: model must be one of 'shared', 'blocks', got 'own'
    """
    check.one_of("model", model, ("shared", "blocks"))
    table = columns(gzip.decompress(content("swissmetro")))
    known = table["CHOICE"] > 0
    table = {name: values[known] for name, values in table.items()}
    taken = table["CHOICE"].astype(np.int64) - 1
    if model == "blocks":
        contexts = _contexts(table)
        return Classification("swissmetro", contexts / np.linalg.norm(contexts, axis=1).max(), taken)
    offers, hits = _offers(table), np.eye(3)[taken]
    missing = table["CAR_AV"] == 0.0
    offers[missing, 2], hits[missing, 2] = offers[missing, 0], hits[missing, 0]
    return Offers("swissmetro", offers / np.linalg.norm(offers, axis=2).max(), hits)


def _facts(table: dict[str, Array]) -> Array:
    """What is known of a traveller, in [0, 1]: (N, 4)."""
    return np.column_stack([table["MALE"], table["AGE"] / 6.0, table["INCOME"] / 4.0, table["GA"]])


def _costs(table: dict[str, Array]) -> tuple[Array, Array, Array]:
    """Of the three alternatives, log(1 + francs/100); who has an annual ticket pays for the car alone."""
    pays = table["GA"] == 0.0
    public = (np.log1p(pays * table[name] / HUNDREDS) for name in ("TRAIN_CO", "SM_CO"))
    return (*public, np.log1p(table["CAR_CO"] / HUNDREDS))


def _times(table: dict[str, Array]) -> list[Array]:
    return [np.log1p(table[name] / HOURS) for name in ("TRAIN_TT", "SM_TT", "CAR_TT")]


def _offers(table: dict[str, Array]) -> Array:
    """(N, 3, 20)."""
    rounds = len(table["CHOICE"])
    nothing = np.zeros(rounds)
    headways = [table["TRAIN_HE"] / HOURS, table["SM_HE"] / HOURS, nothing]
    first = [table["FIRST"], table["FIRST"], nothing]
    seats = [nothing, table["SM_SEATS"], nothing]
    own = np.stack(
        [np.stack(part, axis=1) for part in (_times(table), _costs(table), headways, first, seats)], axis=2
    )
    about = np.column_stack([np.ones(rounds), _facts(table)])
    blocks = np.zeros((rounds, 3, 3, about.shape[1]))
    blocks[:, np.arange(3), np.arange(3)] = about[:, None, :]
    return np.concatenate([own, blocks.reshape(rounds, 3, -1)], axis=2)


def _contexts(table: dict[str, Array]) -> Array:
    """Standardised, no more than three deviations from the mean, and a constant: (N, 20)."""
    facts = [table[name] for name in ("CAR_AV", "FIRST", "LUGGAGE", "SURVEY", "SM_SEATS")]
    headways = [table["TRAIN_HE"], table["SM_HE"]]
    who = [table["WHO"] == k for k in (1.0, 2.0)]
    parts = np.column_stack([*_times(table), *_costs(table), *headways, *facts, *who, _facts(table)]).astype(
        np.float64
    )
    standard = (parts - parts.mean(axis=0)) / parts.std(axis=0)
    return np.column_stack([np.clip(standard, -3.0, 3.0), np.ones(len(parts))])
