"""Many seeds at once, on cores or a GPU: the same kernels, round by round, for every seed.

    play_many     what a user calls
    record        what is told of each seed, and means with intervals
    settings      which agents and instances can be played, as arrays and numbers
    draws         random numbers that are functions of (seed, round, position)
    worlds        what is offered in a round
    optimistic    the rounds of one seed: UPACOFUL, NestedOFUL, OFUL, LinUCB
    guarded       the rounds of one seed: Guarded over a regression
    cores, cuda   the loop over seeds
"""
