"""MDPs with finitely many states: classes, factories, planning."""
