"""Stacks of ridge regressions, one per level, in compiled code: UPACOFUL, NestedOFUL, OFUL, BallOFUL, LinUCB."""
