"""Agents and instances of a user's own, for the tests of experiments; some behave badly."""

import dataclasses
import functools
import os
import signal
import time
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

import unipac


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


class Leaves(Uniform):
    """Ends its worker as if all were well."""

    def choose(self, actions):
        os._exit(0)


class Escapes(Uniform):
    """Fails with a message that would clear the screen and change the title of the terminal."""

    def choose(self, actions):
        raise RuntimeError("\x1b[2J\x1b]0;owned\x07")


def noted_sphere(log, seed=0):
    """A sphere that notes how often it is made."""
    with open(log, "a") as file:
        file.write("made\n")
    return unipac.envs.sphere(2, 3, seed=seed)


@dataclasses.dataclass
class Declared:
    """An agent whose parameters are fields and who says itself how it is made."""

    kind: ClassVar[str] = "bandit"
    dim: int
    step: float = 0.5
    delta: float = 0.25
    made_with: dict = dataclasses.field(default_factory=dict, init=False)

    @classmethod
    def made_for(cls, instance, *, rounds, seed, **parameters):
        agent = cls(instance.dim, **parameters)
        agent.made_with = {"rounds": rounds, "seed": seed}
        return agent

    def choose(self, actions):
        return 0

    def update(self, decision, reward):
        pass


class Counting(Declared):
    """The same, and takes many rounds in one step."""

    counts_many = True


class Answer(NamedTuple):
    index: int
    certificate: float
    pulls: int
    counts: np.ndarray


class EqualPulls:
    """A search that pulls all arms equally often and answers with the best mean."""

    kind = "search"
    theorem = "PAC"

    def __init__(self, arms, delta=0.1, noise=1.0, share=1.0, wrong=False):
        self.arms, self.delta, self.noise, self.share, self.wrong = arms, delta, noise, share, wrong

    def run(self, instance, *, seed, max_pulls):
        each = max(int(self.share * max_pulls) // len(self.arms), 1)
        _, means, rewards = instance.rounds(0, each * len(self.arms), seed)
        seen = [rewards[i * each : (i + 1) * each, i].mean() for i in range(len(self.arms))]
        # Hoeffding for each arm, a union bound over the arms: the best is at most 2 radii above the answer.
        radius = self.noise * np.sqrt(2 * np.log(2 * len(self.arms) / self.delta) / each)
        index = int(np.argmin(means)) if self.wrong else int(np.argmax(seen))
        certificate = 0.0 if self.wrong else float(max(seen) - seen[index] + 2 * radius)
        return Answer(index, certificate, each * len(self.arms), np.full(len(self.arms), each))


# What can be seen to be neither an agent nor an instance, and what can.


def touching_list(mark: str = "") -> list[int]:
    """Says that it makes a list, and leaves a mark."""
    Path(mark).touch()
    return []


def touching_none(mark: str = "") -> None:
    """Makes nothing, and leaves a mark."""
    Path(mark).touch()


class Touching:
    """No agent and no instance; leaves a mark."""

    def __init__(self, mark=""):
        Path(mark).touch()


def said_sphere(dim: int = 2) -> unipac.envs.BanditInstance:
    """An instance, and says so."""
    return unipac.envs.sphere(dim, 3)


def unsaid_sphere(dim=2):
    """An instance."""
    return unipac.envs.sphere(dim, 3)


class Spheres:
    """A method that makes an instance."""

    @classmethod
    def small(cls):
        """An instance."""
        return unipac.envs.sphere(2, 3)


filled_sphere = functools.partial(unsaid_sphere, dim=3)


def said_uniform(dim: int, seed: int = 0) -> "Uniform":
    """An agent, and says so."""
    return Uniform(dim, seed)


def exits(dim):
    """Leaves the process instead of making an agent."""
    raise SystemExit(dim)
