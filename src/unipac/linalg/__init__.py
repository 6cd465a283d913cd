"""Ridge regressions and stacks of them, as compiled kernels on plain arrays; knows nothing of bandits."""
