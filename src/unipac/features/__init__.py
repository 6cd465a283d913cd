"""From tables, ids and observations to vectors of norm at most 1.

>>> from unipac import features
>>> phi = features.Blocks(["a", "b"], features.Columns(ranges={"age": (18, 90)}))
>>> actions = phi({"age": 30}, ["a", "b"])
>>> phi.dim, len(actions), actions.labels
(6, 2, ('a', 'b'))

The maps for observations of MDPs are here too: ``TileCoding``, ``Fourier`` and the others.
"""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "_actions": "Actions",
        "features.columns": "Columns",
        "features.encoders": "Constant Encoder Joined Numbers",
        "features.maps": "Blocks Features Interactions Sum",
        "features.norms": "suggested_norm",
        "features.observations.fourier": "Fourier RandomFourier",
        "features.observations.grids": "Aggregation TileCoding",
        "features.observations.map": "FeatureMap",
        "features.observations.one_hot": "OneHot",
        "features.observations.soft": "SoftAggregation",
        "features.reading": "from_json",
        "features.transformed": "Transformed",
        "features.types": "Types",
    },
)
