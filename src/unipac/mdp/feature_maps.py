"""Features of observations, so that agents for linear MDPs can face any Gymnasium environment.

A map turns an observation s into one vector per action, the features ψ(s) of the state in the block of the
action: φ(s, a) = e_a ⊗ ψ(s), of dimension d = A · dim ψ, with |φ(s, a)| = |ψ(s)| ≤ 1 up to rounding.

===============  ==========================================  ==================================
map              ψ(s)                                        dim ψ
===============  ==========================================  ==================================
`Aggregation`    one-hot of the cell of a grid               Π bins
`TileCoding`     one-hots of the cells of shifted grids      Π bins + (tilings - 1) Π (bins + 1)
`Fourier`        cosines cos(π <c, x>)                       (order + 1)^k, fewer with coupling
`RandomFourier`  cosines and sines at random frequencies     features
`OneHot`         one-hot of a state with a number            n_states
===============  ==========================================  ==================================

All but `OneHot` rescale the k numbers of an observation to x in [0, 1]^k by the bounds ``low`` and ``high``.
**Observations outside of the bounds are clipped to them**: states beyond a bound look like those on it.

No map makes an environment a linear MDP: unless its transitions and rewards really are linear in φ, as they
are for `OneHot`, the guarantees of the agents do not cover it.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unipac import _checks as check
from unipac._inputs import floats, read_only

Array = NDArray[np.float64]

MOST_FEATURES = 100_000
"""Maps of a larger dimension d are refused: agents keep d × d matrices."""

UNBOUNDED = 1e30
"""Bounds from here on are those of a space without bounds: some environments write 3.4e38 for infinity."""

SMALLEST_BANDWIDTH = 1e-6
"""Below it, rounding of the observations would decide the features."""


class FeatureMap(ABC):
    """A function of observations: (n_actions, dim) features, float64, with norms of at most 1.

    A map does not change. It can be written to JSON by the name of its class and its `parameters`, and
    rebuilt with `FEATURE_MAPS`.

    Attributes:
        n_actions: number A of actions.
        state_dim: dimension of the features ψ(s) of a state.
        dim: dimension of the features φ(s, a), A · ``state_dim``.

    Example:
        >>> import json
        >>> saved = json.dumps({"name": "OneHot", "parameters": OneHot(n_states=2, n_actions=3).parameters})
        >>> read = json.loads(saved)
        >>> FEATURE_MAPS[read["name"]](**read["parameters"])
        <OneHot: 2 states, 3 actions, dimension 6>
    """

    n_actions: int
    state_dim: int
    dim: int

    def __init__(self, n_actions: int) -> None:
        self.n_actions = check.count("n_actions", n_actions, most=MOST_FEATURES)

    @classmethod
    @abstractmethod
    def from_env(cls, env: Any, **settings: Any) -> Self:
        """The map for a Gymnasium environment, by its spaces of observations and actions."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The arguments that build this map again, of types that JSON knows."""

    def __call__(self, observation: ArrayLike) -> Array:
        """Features φ(s, a) of one observation for every action, (n_actions, dim).

        Raises:
            ValueError: if the observation has another shape or is not finite.
        """
        features = self._in_blocks(self._states("observation", observation, one=True))
        return features.reshape(self.n_actions, self.dim)

    def batch(self, observations: ArrayLike) -> Array:
        """Features of m observations, (m, n_actions, dim); bit for bit those of single calls.

        Raises:
            ValueError: if the observations have another shape or are not finite.
        """
        return self._in_blocks(self._states("observations", observations, one=False))

    def state_features(self, observations: ArrayLike) -> Array:
        """Features ψ(s) of m observations, before they are placed in blocks, (m, state_dim).

        Raises:
            ValueError: if the observations have another shape or are not finite.
        """
        return self._states("observations", observations, one=False)

    @abstractmethod
    def _states(self, name: str, observations: ArrayLike, *, one: bool) -> Array:
        """ψ of checked observations, (m, state_dim); of a single one, (1, state_dim).

        Every row must depend on its own observation only, to the last bit: no matrix products, whose
        rounding follows the number of rows.
        """

    def _in_blocks(self, states: Array) -> Array:
        m, each = len(states), np.arange(self.n_actions)
        features = np.zeros((m, self.n_actions, self.n_actions, self.state_dim))
        features[:, each, each] = states[:, None]
        return features.reshape(m, self.n_actions, self.dim)

    def _set_size(self, state_dim: int, name: str, value: object) -> None:
        """Set the dimensions, or name the argument that makes them too large."""
        expected = f"so small that there are at most {MOST_FEATURES} features for {self.n_actions} actions"
        check.require(state_dim * self.n_actions <= MOST_FEATURES, name, expected, value)
        self.state_dim = state_dim
        self.dim = state_dim * self.n_actions


class OneHot(FeatureMap):
    """A feature for every pair of state and action: for observations that are numbers of states.

    An MDP with finitely many states is linear in these features.

    Args:
        n_states: number of states.
        n_actions: number of actions.
        start: number of the first state.

    Raises:
        ValueError: for counts that are not positive integers, or more than 100 000 features.

    Example:
        >>> f = OneHot(n_states=2, n_actions=2)
        >>> f(1)
        array([[0., 1., 0., 0.],
               [0., 0., 0., 1.]])
    """

    def __init__(self, n_states: int, n_actions: int, *, start: int = 0) -> None:
        super().__init__(n_actions)
        self.n_states = check.count("n_states", n_states)
        self.start = check.count("start", start, least=-(2**61), most=2**61)
        self._set_size(self.n_states, "n_states", n_states)

    @classmethod
    def from_env(cls, env: Any, **settings: Any) -> Self:
        """The map for a Gymnasium environment with ``Discrete`` observations and actions.

        Args:
            env: the environment.
            **settings: further arguments; the spaces leave none to be set.

        Raises:
            ValueError: if the spaces are of another kind.
        """
        space, n_actions = _spaces(env)
        if not _is_discrete(space):
            hint = "a Discrete space (Aggregation, TileCoding, Fourier, RandomFourier take a Box)"
            raise ValueError(f"env.observation_space must be {hint}, got {space!r}")
        return cls(space.n, n_actions, start=space.start, **settings)

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that build this map again, of types that JSON knows."""
        return {"n_states": self.n_states, "n_actions": self.n_actions, "start": self.start}

    def __repr__(self) -> str:
        start = f", start={self.start}" if self.start else ""
        return f"<OneHot: {self.n_states} states, {self.n_actions} actions, dimension {self.dim}{start}>"

    def _states(self, name: str, observations: ArrayLike, *, one: bool) -> Array:
        try:
            numbers = np.asarray(observations)
        except ValueError:  # nested sequences of different lengths
            numbers = np.empty((), dtype=object)
        if numbers.dtype.kind not in "iu" or numbers.ndim != (0 if one else 1):
            expected = "an integer" if one else "an array of integers of shape (m,)"
            raise ValueError(f"{name} must be {expected}, got {observations!r}")
        numbers = numbers.reshape(-1)
        last = self.start + self.n_states - 1
        outside = (numbers < self.start) | (numbers > last)
        if outside.any():
            bad = int(np.argmax(outside))
            where = "" if one else f"{name}[{bad}] = "
            raise ValueError(f"{name} must be from {self.start} to {last}, got {where}{numbers[bad]}")
        states = np.zeros((len(numbers), self.n_states))
        states[np.arange(len(numbers)), numbers.astype(np.int64) - self.start] = 1.0
        return states


class _BoxMap(FeatureMap):
    """A map of arrays within bounds.

    Attributes:
        low: least value of each number of an observation, an array of the shape of observations.
        high: largest values.
    """

    low: Array
    high: Array

    def __init__(self, low: ArrayLike, high: ArrayLike, n_actions: int) -> None:
        super().__init__(n_actions)
        self.low, self.high = _bounds("low", low), _bounds("high", high)
        if self.low.shape != self.high.shape:
            raise ValueError(f"high must have the shape of low, {self.low.shape}, got {self.high.shape}")
        check.require(self.low.size > 0, "low", "an array of at least one number", low)
        empty = ~(self.low < self.high)
        if empty.any():
            at = _where(empty)
            got = f"low{at} = {self.low[empty][0]} and high{at} = {self.high[empty][0]}"
            raise ValueError(f"low must be less than high, got {got}")
        self._flat_low = self.low.reshape(-1)
        self._flat_high = self.high.reshape(-1)
        self._width = self._flat_high - self._flat_low

    @classmethod
    def from_env(
        cls, env: Any, *, low: ArrayLike | None = None, high: ArrayLike | None = None, **settings: Any
    ) -> Self:
        """The map for a Gymnasium environment with ``Box`` observations and ``Discrete`` actions.

        Args:
            env: the environment.
            low: bounds in place of those of the observation space, which may be infinite.
            high: bounds in place of those of the observation space.
            **settings: further arguments of the map.

        Raises:
            ValueError: if the spaces are of another kind, or without bounds while none are passed.
        """
        space, n_actions = _spaces(env)
        if not (hasattr(space, "low") and hasattr(space, "high")):
            hint = (
                "OneHot takes a Discrete one"
                if _is_discrete(space)
                else "gymnasium.wrappers.FlattenObservation makes one of most other spaces"
            )
            raise ValueError(f"env.observation_space must be a Box ({hint}), got {space!r}")
        call = f"{cls.__name__}.from_env(env, low=..., high=...)"
        lowest = _of_space("low", space.low, call) if low is None else _in_place_of(space, "low", low)
        highest = _of_space("high", space.high, call) if high is None else _in_place_of(space, "high", high)
        return cls(lowest, highest, n_actions, **settings)

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that build this map again, of types that JSON knows."""
        common = {"low": self.low.tolist(), "high": self.high.tolist(), "n_actions": self.n_actions}
        return common | self._settings()

    def __repr__(self) -> str:
        settings = {name: _shortest(value) for name, value in self._settings().items()}
        return (
            f"<{type(self).__name__}: observations {self.low.shape}, {self.n_actions} actions, "
            f"dimension {self.dim}, {', '.join(f'{name}={value}' for name, value in settings.items())}>"
        )

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """The parameters besides bounds and actions."""

    @abstractmethod
    def _of_unit(self, x: Array) -> Array:
        """ψ of points in the unit cube, (m, k) to (m, state_dim)."""

    def _states(self, name: str, observations: ArrayLike, *, one: bool) -> Array:
        values = floats(name, observations)
        shape = self.low.shape
        if (values.shape if one else values.shape[1:]) != shape or (not one and values.ndim == 0):
            expected = shape if one else f"({', '.join(['m', *map(str, shape)])}{'' if shape else ','})"
            raise ValueError(f"{name} must have shape {expected}, got {values.shape}")
        points = values.reshape(1 if one else len(values), self._width.size)
        finite = np.isfinite(points)
        if not finite.all():
            broken = ~finite.reshape(values.shape)
            raise ValueError(f"{name} must be finite, got {name}{_where(broken)} = {values[broken][0]}")
        clipped = np.clip(points, self._flat_low, self._flat_high)
        return self._of_unit((clipped - self._flat_low) / self._width)


class _Grids(_BoxMap):
    """One-hots of the cells of grids, the j-th shifted by j / tilings of a cell."""

    bins: tuple[int, ...]

    def __init__(
        self, low: ArrayLike, high: ArrayLike, n_actions: int, bins: int | Sequence[int], tilings: int
    ) -> None:
        super().__init__(low, high, n_actions)
        self.bins = _per_number("bins", bins, self._width.size)
        self._tilings = check.count("tilings", tilings, most=MOST_FEATURES)
        # The first grid is not shifted and needs no cell beyond the last.
        first, other = math.prod(self.bins), math.prod(b + 1 for b in self.bins)
        size = first + (self._tilings - 1) * other
        name = "tilings" if self._tilings > 1 and other * self.n_actions <= MOST_FEATURES else "bins"
        self._set_size(size, name, bins if name == "bins" else tilings)
        cells = np.array([self.bins, *([[b + 1 for b in self.bins]] * (self._tilings - 1))])
        self._last = cells - 1
        self._strides = np.ones_like(cells)
        self._strides[:, :-1] = np.cumprod(cells[:, :0:-1], axis=1)[:, ::-1]
        self._begin = np.concatenate([[0], first + other * np.arange(self._tilings - 1)])
        self._shift = np.arange(self._tilings)[:, None] / self._tilings

    def _of_unit(self, x: Array) -> Array:
        scaled = (x * np.array(self.bins))[:, None] + self._shift  # (m, tilings, k), not negative
        cells = np.minimum(scaled.astype(np.int64), self._last)
        active = (cells * self._strides).sum(axis=2) + self._begin
        states = np.zeros((len(x), self.state_dim))
        states[np.arange(len(x))[:, None], active] = 1.0 / math.sqrt(self._tilings)
        return states


class Aggregation(_Grids):
    """State aggregation: one-hot of the cell of a regular grid in which the observation lies; |ψ| = 1.

    Cells are numbered with the last number of the observation running fastest, and contain their lower
    ends; the last ones contain their upper ends, too.

    Args:
        low: least values of an observation, finite; smaller ones are clipped.
        high: largest values, finite; larger ones are clipped.
        n_actions: number of actions.
        bins: number of cells along each number of the observation, an integer for all or one for each.

    Raises:
        ValueError: for bounds that are not finite or not in order, ``bins`` below 1, or more than 100 000
            features.

    Example:
        >>> f = Aggregation(low=[0, -1], high=[1, 1], n_actions=1, bins=2)
        >>> f([0.2, 0.5])  # cell 0 of the first number, 1 of the second
        array([[0., 1., 0., 0.]])
        >>> f([7.0, -0.5])  # clipped to [1, -0.5]
        array([[0., 0., 1., 0.]])
    """

    def __init__(
        self, low: ArrayLike, high: ArrayLike, n_actions: int, bins: int | Sequence[int] = 8
    ) -> None:
        super().__init__(low, high, n_actions, bins, 1)

    def _settings(self) -> dict[str, Any]:
        return {"bins": list(self.bins)}


class TileCoding(_Grids):
    """Tile coding: one-hots of the cells of several shifted grids, scaled to |ψ| = 1.

    Tiling j = 0, 1, ... is shifted down by j / tilings of a cell along every number of the observation, and
    all but the first have one more cell there. Points closer than a cell share some of their features, so
    that values generalise further than with `Aggregation`, at a resolution of 1 / (bins · tilings).

    Args:
        low: least values of an observation, finite; smaller ones are clipped.
        high: largest values, finite; larger ones are clipped.
        n_actions: number of actions.
        bins: number of cells along each number of the observation, an integer for all or one for each.
        tilings: number of grids.

    Raises:
        ValueError: for bounds that are not finite or not in order, ``bins`` or ``tilings`` below 1, or more
            than 100 000 features.

    Example:
        >>> f = TileCoding(low=[0], high=[1], n_actions=1, bins=2, tilings=4)
        >>> f([0.3])  # cells [0, 0, 1, 1] of grids of 2, 3, 3 and 3 cells
        array([[0.5, 0. , 0.5, 0. , 0. , 0. , 0.5, 0. , 0. , 0.5, 0. ]])
    """

    def __init__(
        self,
        low: ArrayLike,
        high: ArrayLike,
        n_actions: int,
        bins: int | Sequence[int] = 8,
        tilings: int = 4,
    ) -> None:
        super().__init__(low, high, n_actions, bins, tilings)
        self.tilings = self._tilings

    def _settings(self) -> dict[str, Any]:
        return {"bins": list(self.bins), "tilings": self.tilings}


class Fourier(_BoxMap):
    """The cosine basis: ψ(s) = cos(π <c, x>) / √n for n vectors c in {0, ..., order}^k; |ψ| ≤ 1.

    The vectors are sorted by the number of their entries that are not 0, then by the places of these, then
    by their values: (0, 0), (1, 0), (2, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2) for order 2.

    Args:
        low: least values of an observation, finite; smaller ones are clipped.
        high: largest values, finite; larger ones are clipped.
        n_actions: number of actions.
        order: largest entry of a vector c, at least 1.
        coupling: keep only the c with at most so many entries that are not 0; 1 gives sums of functions of
            one number each. None keeps all of them.

    Raises:
        ValueError: for bounds that are not finite or not in order, ``order`` or ``coupling`` below 1, or
            more than 100 000 features.

    Example:
        >>> f = Fourier(low=[0], high=[1], n_actions=1, order=3)
        >>> f([1.0])  # cosines of 0, π, 2π, 3π, divided by √4
        array([[ 0.5, -0.5,  0.5, -0.5]])
        >>> Fourier(low=[0] * 6, high=[1] * 6, n_actions=3, order=3, coupling=1)
        <Fourier: observations (6,), 3 actions, dimension 57, order=3, coupling=1>
    """

    def __init__(
        self,
        low: ArrayLike,
        high: ArrayLike,
        n_actions: int,
        order: int = 3,
        coupling: int | None = None,
    ) -> None:
        super().__init__(low, high, n_actions)
        self.order = check.count("order", order, most=MOST_FEATURES)
        self.coupling = None if coupling is None else check.count("coupling", coupling)
        k = self._width.size
        most = k if self.coupling is None else min(self.coupling, k)
        n = 1
        for j in range(1, most + 1):
            n += math.comb(k, j) * self.order**j
            if n > MOST_FEATURES:
                break
        if coupling is None or coupling == 1:
            self._set_size(n, "order", order)
        else:
            self._set_size(n, "coupling", coupling)
        # Of each c only the places and values of what is not 0, filled up by 0 at place 0.
        self._places = np.zeros((most, n), dtype=np.int64)
        self._values = np.zeros((most, n))
        vectors = (
            (places, values)
            for j in range(most + 1)
            for places in itertools.combinations(range(k), j)
            for values in itertools.product(range(1, self.order + 1), repeat=j)
        )
        for i, (places, values) in enumerate(vectors):
            self._places[: len(places), i] = places
            self._values[: len(values), i] = values

    def _settings(self) -> dict[str, Any]:
        return {"order": self.order, "coupling": self.coupling}

    def _of_unit(self, x: Array) -> Array:
        turns = np.zeros((len(x), self.state_dim))
        for places, values in zip(self._places, self._values, strict=True):
            turns += x[:, places] * values
        # The remainder is exact, and cosines of small numbers are accurate.
        return np.cos(np.pi * np.fmod(turns, 2.0)) / math.sqrt(self.state_dim)


class RandomFourier(_BoxMap):
    """Random Fourier features: <ψ(s), ψ(s')> is about exp(-|x - x'|² / (2 bandwidth²)); |ψ| = 1.

    For D = features / 2 frequencies w drawn from a Gaussian with standard deviation 1 / bandwidth, ψ(s)
    consists of all cos(<w, x>) / √D, then all sin(<w, x>) / √D. The error of the kernel at a pair of points
    is more than t with probability at most 2 exp(-D t² / 2) over the seed.

    Args:
        low: least values of an observation, finite; smaller ones are clipped.
        high: largest values, finite; larger ones are clipped.
        n_actions: number of actions.
        features: dimension of ψ, an even number: a cosine and a sine for each frequency.
        bandwidth: of the Gaussian kernel, at least 1e-6, as a fraction of the range from ``low`` to
            ``high``. Points at a larger distance have features that are almost orthogonal.
        seed: seed of the frequencies.

    Raises:
        ValueError: for bounds that are not finite or not in order, ``features`` odd or below 2,
            ``bandwidth`` not positive, or more than 100 000 features.

    Example:
        >>> f = RandomFourier(low=[0, 0], high=[2, 2], n_actions=1, features=4)
        >>> f([0, 0])  # cosines of 0, then sines of 0
        array([[0.70710678, 0.70710678, 0. , 0. ]])
        >>> float(np.linalg.norm(f([0.3, 1.2])))
        1.0
    """

    # scikit-learn's RBFSampler uses cos(<w, x> + b) with a random b, whose norm is random and may be near
    # √2; with a cosine and a sine for each frequency the norm is 1 for every observation.

    def __init__(
        self,
        low: ArrayLike,
        high: ArrayLike,
        n_actions: int,
        features: int = 64,
        bandwidth: float = 0.2,
        seed: int = 0,
    ) -> None:
        super().__init__(low, high, n_actions)
        self.features = check.count("features", features, least=2)
        check.require(self.features % 2 == 0, "features", "even (a cosine and a sine each)", features)
        self.bandwidth = check.positive("bandwidth", bandwidth)
        check.require(
            self.bandwidth >= SMALLEST_BANDWIDTH, "bandwidth", f"at least {SMALLEST_BANDWIDTH:g}", bandwidth
        )
        self.seed = check.count("seed", seed, least=0)
        self._set_size(self.features, "features", features)
        # The distributions of RandomState are frozen, those of Generator may change with NumPy's versions,
        # and an agent that was saved must find the same features.
        rng = np.random.RandomState(np.random.PCG64(self.seed))
        frequencies = rng.standard_normal((self._width.size, self.features // 2))
        self._frequencies = frequencies / (2 * np.pi * self.bandwidth)  # (k, D), in turns

    def _settings(self) -> dict[str, Any]:
        return {"features": self.features, "bandwidth": self.bandwidth, "seed": self.seed}

    def _of_unit(self, x: Array) -> Array:
        half = self.features // 2
        turns = np.zeros((len(x), half))
        for place, frequencies in enumerate(self._frequencies):
            turns += x[:, place, None] * frequencies
        angles = 2 * np.pi * (turns - np.rint(turns))
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / math.sqrt(half)


FEATURE_MAPS: dict[str, type[FeatureMap]] = {
    "Aggregation": Aggregation,
    "TileCoding": TileCoding,
    "Fourier": Fourier,
    "RandomFourier": RandomFourier,
    "OneHot": OneHot,
}
"""The maps by name, for ``FEATURE_MAPS[name](**parameters)``."""


# -- arguments -------------------------------------------------------------------------------------


def _bounds(name: str, values: ArrayLike) -> Array:
    array = floats(name, values).copy()
    outside = ~(np.abs(array) < UNBOUNDED)  # also true for NaN
    if outside.any():
        got = f"{name}{_where(outside)} = {array[outside][0]}"
        raise ValueError(f"{name} must be finite and within ±{UNBOUNDED:g}, got {got}")
    return read_only(array)


def _where(marks: NDArray[np.bool_]) -> str:
    """The first place that is marked, as an index; nothing for a number alone."""
    return str([int(i) for i in np.argwhere(marks)[0]]) if marks.ndim else ""


def _per_number(name: str, value: int | Sequence[int], k: int) -> tuple[int, ...]:
    """A count for each of k numbers."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, SupportsIndex):
        return (check.count(name, value, most=MOST_FEATURES),) * k
    iterable = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
    values = tuple(value) if iterable else ()
    check.require(len(values) == k, name, f"an integer or a sequence of {k} integers", value)
    return tuple(check.count(f"{name}[{i}]", one, most=MOST_FEATURES) for i, one in enumerate(values))


def _shortest(value: object) -> object:
    """One number for a list of equal ones."""
    return value[0] if isinstance(value, list) and len(set(value)) == 1 else value


# -- spaces of Gymnasium, which need not be installed ----------------------------------------------


def _is_discrete(space: object) -> bool:
    return hasattr(space, "n") and hasattr(space, "start")


def _spaces(env: Any) -> tuple[Any, int]:
    """The space of observations and the number of actions."""
    if not (hasattr(env, "observation_space") and hasattr(env, "action_space")):
        raise ValueError(f"env must have an observation_space and an action_space, got {env!r}")
    actions = env.action_space
    if not _is_discrete(actions) or actions.start != 0:
        raise ValueError(f"env.action_space must be a Discrete space from 0 on, got {actions!r}")
    return env.observation_space, actions.n


def _of_space(name: str, bounds: ArrayLike, call: str) -> Array:
    """Bounds of a space, or what to do if it has none."""
    array = floats(name, bounds)
    unbounded = ~(np.abs(array) < UNBOUNDED)
    if unbounded.any():
        raise ValueError(
            f"{name} must be passed, as in {call}, since env.observation_space has no bounds of its own: "
            f"choose the range in which the observations of interest lie (others are clipped to it); "
            f"got {name}{_where(unbounded)} = {array[unbounded][0]} from the environment"
        )
    return array


def _in_place_of(space: Any, name: str, bounds: ArrayLike) -> Array:
    """Bounds from the user, of the shape of the space."""
    array = floats(name, bounds)
    if array.shape != space.shape:
        raise ValueError(f"{name} must have the shape of observations, {space.shape}, got {array.shape}")
    return array
