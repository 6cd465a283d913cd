"""Open Bandit Dataset: recommended clothes and rare clicks (Saito, Aihara, Matsutani and Narita 2021), as logs."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from typing import NamedTuple

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac.data.files import content
from unipac.logs import Log

CAMPAIGNS = ("all", "men", "women")
POSITIONS = 3
"""Items are shown in three places of a page, left, middle and right; each place is a round."""


class OpenBandit(NamedTuple):
    """A log of clicks, where the items were shown, and the policy that the shop would have used otherwise.

    >>> OpenBandit._fields
    ('log', 'position', 'prior')
    """

    log: Log
    """The items are unit vectors; the reward is 1 for a click."""
    position: Integers
    """(T,): the place on the page, 0 to 2."""
    prior: Array
    """(n, 2): α and β of each item's Beta distribution, with which the shop's Thompson sampling began."""

    def thompson(self, draws: int = 100_000, seed: int = 0) -> Array:
        """Thompson sampling from the prior, as probabilities (T, n) of the items in the place of each round.

        In each draw, the item with the largest sample of its Beta distribution has the first place, and so on.

        Args:
            draws: number of draws from which the probabilities are estimated.
            seed: their seed.
        """
        draws, seed = check.count("draws", draws), check.seed("seed", seed)
        rng = np.random.default_rng(seed)
        counts = np.zeros((POSITIONS, len(self.prior)))
        for begin in range(0, draws, 10_000):
            some = min(10_000, draws - begin)
            samples = rng.beta(self.prior[:, 0], self.prior[:, 1], size=(some, len(self.prior)))
            for place in range(POSITIONS):
                best = samples.argmax(axis=1)
                counts[place] += np.bincount(best, minlength=len(self.prior))
                samples[np.arange(some), best] = -1.0
        return np.asarray((counts / draws)[self.position])


def open_bandit(campaign: str = "men", logging: str = "random") -> OpenBandit:
    """10,000 items shown in an online shop, of 34 (men), 46 (women) or 80 (all), each with its propensity.

    Each place of a page is a round. Items are unit vectors, in which any expected rewards are linear; facts about
    users and items are left out. The first call needs ``unipac data get open-bandit``.

    Args:
        campaign: "all", "men" or "women".
        logging: "random" for uniform choices, "bts" for the shop's Thompson sampling, whose propensities were
            simulated by the shop, from 1e-6 to .96.

    Raises:
        FileNotFoundError: if the files are missing; says how to get them.

    Example:
        >>> open_bandit("children")
        Traceback (most recent call last):
        ValueError: campaign must be one of 'all', 'men', 'women', got 'children'
    """
    check.one_of("campaign", campaign, CAMPAIGNS)
    check.one_of("logging", logging, ("random", "bts"))
    text = content("open-bandit", f"obp/dataset/obd/{logging}/{campaign}/{campaign}.csv").decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    prior = _priors(content("open-bandit").decode())[campaign]
    log = Log(
        np.eye(len(prior)),
        np.array([int(row["item_id"]) for row in rows]),
        [float(row["click"]) for row in rows],
        [float(row["propensity_score"]) for row in rows],
        times=[datetime.fromisoformat(row["timestamp"]).timestamp() for row in rows],
    )
    return OpenBandit(log, np.array([int(row["position"]) - 1 for row in rows]), prior)


def _priors(text: str) -> dict[str, Array]:
    """The numbers of a file with a list ``alpha`` and a list ``beta`` for each campaign: (n, 2) each."""
    found: dict[str, dict[str, list[float]]] = {}
    campaign = column = ""
    for line in text.splitlines():
        word = line.strip()
        if word.startswith("- "):
            found[campaign][column].append(float(word[2:]))
        elif word.endswith(":") and not line.startswith(" "):
            campaign = word[:-1]
            found[campaign] = {}
        elif word.endswith(":"):
            column = word[:-1]
            found[campaign][column] = []
    return {name: np.column_stack([lists["alpha"], lists["beta"]]) for name, lists in found.items()}
