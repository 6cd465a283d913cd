# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac._actions import Actions as Actions
from unipac.features.columns import Columns as Columns
from unipac.features.encoders import Constant as Constant
from unipac.features.encoders import Encoder as Encoder
from unipac.features.encoders import Joined as Joined
from unipac.features.encoders import Numbers as Numbers
from unipac.features.maps import Blocks as Blocks
from unipac.features.maps import Features as Features
from unipac.features.maps import Interactions as Interactions
from unipac.features.maps import Sum as Sum
from unipac.features.norms import suggested_norm as suggested_norm
from unipac.features.observations import Aggregation as Aggregation
from unipac.features.observations import Fourier as Fourier
from unipac.features.observations import OneHot as OneHot
from unipac.features.observations import RandomFourier as RandomFourier
from unipac.features.observations import TileCoding as TileCoding
from unipac.features.reading import from_json as from_json
from unipac.features.transformed import Transformed as Transformed
