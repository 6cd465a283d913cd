"""The kernels that make decisions fast: vector registers, packed states, the search for the best action."""
