"""From tables, ids and observations to vectors of norm at most 1.

>>> from unipac import features
>>> phi = features.Blocks(["a", "b"], features.Columns(ranges={"age": (18, 90)}))
>>> actions = phi({"age": 30}, ["a", "b"])
>>> phi.dim, len(actions), actions.labels
(6, 2, ('a', 'b'))

The maps for observations of MDPs are here too: ``TileCoding``, ``Fourier`` and the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unipac import _lazy

if TYPE_CHECKING:
    from unipac._actions import Actions
    from unipac.features.columns import Columns
    from unipac.features.encoders import Constant, Encoder, Joined, Numbers
    from unipac.features.maps import Blocks, Features, Interactions, Sum
    from unipac.features.norms import suggested_norm
    from unipac.features.observations import Aggregation, Fourier, OneHot, RandomFourier, TileCoding
    from unipac.features.reading import from_json
    from unipac.features.transformed import Transformed

_HOMES = {
    "Actions": "unipac._actions",
    "Aggregation": "unipac.features.observations",
    "Blocks": "unipac.features.maps",
    "Columns": "unipac.features.columns",
    "Constant": "unipac.features.encoders",
    "Encoder": "unipac.features.encoders",
    "Features": "unipac.features.maps",
    "Fourier": "unipac.features.observations",
    "Interactions": "unipac.features.maps",
    "Joined": "unipac.features.encoders",
    "Numbers": "unipac.features.encoders",
    "OneHot": "unipac.features.observations",
    "RandomFourier": "unipac.features.observations",
    "Sum": "unipac.features.maps",
    "TileCoding": "unipac.features.observations",
    "Transformed": "unipac.features.transformed",
    "from_json": "unipac.features.reading",
    "suggested_norm": "unipac.features.norms",
}

__all__ = [
    "Actions",
    "Aggregation",
    "Blocks",
    "Columns",
    "Constant",
    "Encoder",
    "Features",
    "Fourier",
    "Interactions",
    "Joined",
    "Numbers",
    "OneHot",
    "RandomFourier",
    "Sum",
    "TileCoding",
    "Transformed",
    "from_json",
    "suggested_norm",
]


def __getattr__(name: str) -> Any:
    return _lazy.look_up(__name__, name, _HOMES)


def __dir__() -> list[str]:
    return _lazy.names(__name__, _HOMES)
