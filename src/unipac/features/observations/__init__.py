"""Features of observations, so that agents for linear MDPs can face any Gymnasium environment.

A map turns an observation s into one vector per action, the features ψ(s) of the state in the block of the
action: φ(s, a) = e_a ⊗ ψ(s), of dimension d = A · dim ψ, with |φ(s, a)| = |ψ(s)| ≤ 1 up to rounding.

=================  ==========================================  ==================================
map               ψ(s)                                        dim ψ
=================  ==========================================  ==================================
`Aggregation`      one-hot of the cell of a grid               Π bins
`SoftAggregation`  weights of the centres around it            Π centres
`TileCoding`       one-hots of the cells of shifted grids      Π bins + (tilings - 1) Π (bins + 1)
`Fourier`          cosines cos(π <c, x>)                       (order + 1)^k, fewer with coupling
`RandomFourier`    cosines and sines at random frequencies     features
`OneHot`           one-hot of a state with a number            n_states
=================  ==========================================  ==================================

All but `OneHot` rescale the k numbers of an observation to x in [0, 1]^k by the bounds ``low`` and ``high``.
**Observations outside of the bounds are clipped to them**: states beyond a bound look like those on it.

No map makes an environment a linear MDP: unless its transitions and rewards really are linear in φ, as they
are for `OneHot`, the guarantees of the agents do not cover it.

>>> from unipac import features
>>> f = features.Aggregation(low=[0.0], high=[1.0], n_actions=1, bins=4)
>>> f([0.3])                                                # the second of four cells
array([[0., 1., 0., 0.]])
"""
