"""Agents of a user's own, for the tests of experiments; some behave badly."""

import os
import signal
import time
from pathlib import Path

import numpy as np


class Uniform:
    """Chooses at random; has nothing but choose and update."""

    def __init__(self, dim, seed=0, log=None, seconds=0.0):
        self.rng = np.random.default_rng(seed)
        if log is not None:
            with open(log, "a") as file:
                file.write(f"{seed}\n")
        time.sleep(seconds)

    def choose(self, actions):
        return int(self.rng.integers(len(actions)))

    def update(self, decision, reward):
        pass


class Raises(Uniform):
    """Fails on half of the seeds."""

    def update(self, decision, reward):
        if self.rng.bit_generator.state["state"]["state"] % 2 == 0:
            raise RuntimeError("no luck with <this> [seed]")


class KillsOnce(Uniform):
    """Kills its worker, the first time it is made in one."""

    def __init__(self, dim, seed=0, mark=None, always=False):
        super().__init__(dim, seed)
        self.mark, self.always = Path(mark), always

    def choose(self, actions):
        if self.always or not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().choose(actions)


class Sleeps(Uniform):
    """Takes its time."""

    def choose(self, actions):
        time.sleep(600)
