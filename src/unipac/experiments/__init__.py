"""Experiments: agents × instances × seeds, run in parallel, resumed after any interruption, kept on disk."""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "experiments.builtin": "EXPERIMENTS",
        "experiments.findings": "Finding",
        "experiments.reading": "parse read",
        "experiments.registry": "SpecError",
        "experiments.results": "Results",
        "experiments.runner": "Failure Outcome Progress run",
        "experiments.spec": "Spec",
        "experiments.store": "Store StoreError",
    },
)
