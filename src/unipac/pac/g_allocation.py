"""G-allocation: Soare, Lazaric and Munos (2014), section 4.1: estimate every target.

The pseudo-code is that of ``static`` with Y = the targets themselves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unipac._agents import agent
from unipac.pac.static import StaticSearch


@agent
class GAllocation(StaticSearch):
    """Makes every target known, equally well; does not look at rewards until it stops.

    {parameters}

    {example}
    """

    def _directions(self) -> NDArray[np.float64]:
        return self._Z
