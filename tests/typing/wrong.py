"""Calls that type checkers must refuse: the control of ``usage.py``.

A line that ends in ``# mypy: CODE, pyright: RULE`` must have these errors, any other none.
"""

from __future__ import annotations

import unipac


def wrong() -> None:
    mdp = unipac.envs.river_swim(n_states=3, horizon=3)

    unipac.NestedOFUL()  # mypy: call-arg, pyright: reportCallIssue
    unipac.NestedOFUL("2")  # mypy: arg-type, pyright: reportArgumentType
    unipac.NestedOFUL(2, 0.05)  # mypy: call-arg, pyright: reportCallIssue
    unipac.NestedOFUL(2, sigma=0.1)  # mypy: call-arg, pyright: reportCallIssue
    unipac.NestedOFUL(2, noise="loud")  # mypy: arg-type, pyright: reportArgumentType
    unipac.OFUL(2, fixed_actions={"a": 1})  # mypy: arg-type, pyright: reportArgumentType
    unipac.Guarded(3)  # mypy: arg-type, pyright: reportArgumentType
    unipac.PhasedElimination()  # mypy: call-arg, pyright: reportCallIssue
    unipac.PhasedElimination(object())  # mypy: arg-type, pyright: reportArgumentType
    unipac.UBEV(3, 2)  # mypy: call-arg, pyright: reportCallIssue
    unipac.UBEV(3, 2, horizon="3")  # mypy: arg-type, pyright: reportArgumentType
    unipac.UCBVI(3, 2, horizon=3, episodes=9)  # mypy: call-arg, pyright: reportCallIssue
    unipac.FLUTE(object(), horizon=3)  # mypy: arg-type, pyright: reportArgumentType
    unipac.LinGapE()  # mypy: call-arg, pyright: reportCallIssue
    unipac.SupLinUCB(3)  # mypy: call-arg, pyright: reportCallIssue
    unipac.LinGapE(object())  # mypy: arg-type, pyright: reportArgumentType
    unipac.NestedOFULL(2)  # mypy: attr-defined, pyright: reportAttributeAccessIssue
    unipac.bandits.UBEV(3, 2, horizon=3)  # mypy: attr-defined, pyright: reportAttributeAccessIssue
    unipac.CertVI(3, 2, horizon=3).play(mdp)  # mypy: call-arg, pyright: reportCallIssue
    unipac.CertVI(3, 2, horizon=3).update(1)  # mypy: attr-defined, pyright: reportAttributeAccessIssue
    unipac.LinUCB(2).choose([[1.0, 0.0]]).act()  # mypy: attr-defined, pyright: reportAttributeAccessIssue
