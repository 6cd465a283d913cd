# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.deployment.deployment import Deployment as Deployment
from unipac.deployment.drift import Drift as Drift
from unipac.deployment.errors import Closed as Closed
from unipac.deployment.errors import Conflict as Conflict
from unipac.deployment.errors import Full as Full
from unipac.deployment.errors import Unknown as Unknown
from unipac.deployment.log import fold as fold
from unipac.deployment.settling import Settled as Settled
