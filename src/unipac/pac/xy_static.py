"""XY-static: Soare, Lazaric and Munos (2014), section 4.2: estimate the differences of targets.

The pseudo-code is that of ``static`` with Y = the differences of the targets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unipac._agents import agent
from unipac.linalg.design import differences
from unipac.pac.static import StaticSearch


@agent
class XYStatic(StaticSearch):
    """Makes all differences of targets known, equally well; does not look at rewards until it stops.

    {parameters}

    {example}
    """

    def _directions(self) -> NDArray[np.float64]:
        return differences(self._Z)
