# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac._actions import Actions
from unipac.features.columns import Columns
from unipac.features.encoders import Constant, Encoder, Joined, Numbers
from unipac.features.maps import Blocks, Features, Interactions, Sum
from unipac.features.norms import suggested_norm
from unipac.features.observations.fourier import Fourier, RandomFourier
from unipac.features.observations.grids import Aggregation, TileCoding
from unipac.features.observations.map import FeatureMap
from unipac.features.observations.one_hot import OneHot
from unipac.features.observations.soft import SoftAggregation
from unipac.features.reading import from_json
from unipac.features.transformed import Transformed
from unipac.features.types import Types

__all__ = [
    "Actions", "Aggregation", "Blocks", "Columns", "Constant", "Encoder", "FeatureMap", "Features", "Fourier",
    "Interactions", "Joined", "Numbers", "OneHot", "RandomFourier", "SoftAggregation", "Sum", "TileCoding",
    "Transformed", "Types", "from_json", "suggested_norm"
]
