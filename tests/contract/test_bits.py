"""What every agent computes, written down: a change that is not meant to change behaviour leaves these digests alone.

``bits.json`` has, for every case of the contract, a digest of choices, bounds, certificates and all that was learned
over 30 rounds, 8 episodes or 300 pulls with fixed seeds. An issue that changes behaviour writes it anew, with
``PYTHONPATH=tests python tests/contract/test_bits.py``, and lists the agents whose lines changed.

Bits depend on the processor and on the versions of what compiles and adds up. On a machine other than that of the file
the sum of all numbers of a case is compared instead, to six digits, and one case in twenty may differ: a tie may go the
other way.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite import binding
from numba import config

from helpers import registry_cases as cases
from unipac._agents import _learned

WRITTEN = Path(__file__).with_name("bits.json")
ROUNDS, EPISODES, PULLS = 30, 8, 300
CASES = {case.label: case for kind in cases.MAKERS for case in cases.all_cases(kind)}


class Digest:
    """Of numbers and arrays, their shapes and types included."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.total = 0.0

    def add(self, *values: Any) -> None:
        for value in values:
            array = np.asarray(value)
            array = array if array.dtype != object else np.asarray(repr(value))
            self._hash.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
            if array.dtype.kind in "biuf":
                self.total += float(array[np.isfinite(array)].sum())

    def text(self) -> str:
        return self._hash.hexdigest()[:20]


def learned(agent: Any) -> list[str]:
    """Digests of the arrays of the state, sorted: names of fields may change."""
    found = []
    for name, array in _learned(agent)[1].items():
        if name.startswith("state"):
            own = Digest()
            own.add(array)
            found.append(own.text())
    return sorted(found)


def of_bandit(case: cases.Case, digest: Digest) -> Any:
    """Chosen and learned one by one, with a reward that comes late, then played."""
    agent, rounds = case.make(), next(iter(case.instance.pieces(0, ROUNDS, 3)))
    late: list[Any] = []
    for t in range(ROUNDS // 2):
        X = rounds.actions if rounds.actions.ndim == 2 else rounds.actions[t]
        bounds = agent.bounds(X)
        decision = agent.choose(X)
        digest.add(bounds.mean, bounds.ucb, bounds.lcb, decision.index, decision.level, decision.mean)
        digest.add(decision.width, decision.ucb, decision.lcb, decision.certificate, decision.certified)
        reward = float(rounds.rewards[t, decision.index])
        if t % 5 == 4:
            late.append((decision, reward))
        else:
            agent.update(decision, reward)
    for decision, reward in reversed(late):
        agent.update(decision, reward)
    trace = agent.play(case.instance, rounds=ROUNDS // 2, seed=3, truth=case.instance.theta)
    digest.add(trace.index, trace.level, trace.certificate, trace.reward, trace.gap, trace.covered)
    digest.add([(level.size, level.bound, level.radius) for level in agent.levels()])
    digest.add(agent.rounds, agent.consistent, agent.mistake_bound(0.1), agent.guarantee)
    return agent


def of_mdp(case: cases.Case, digest: Digest) -> Any:
    """Half of the episodes by act and observe, then played where the states are numbers."""
    from helpers.mdp_checks import episode

    agent = case.make()
    for k in range(EPISODES // 2):
        state = int(case.instance.initial.argmax())
        digest.add(agent.certificate(state), agent.certified)
        digest.add(*episode(agent, case.instance, k, 3))
    if agent.n_states:
        trace = agent.play(case.instance, episodes=EPISODES // 2, seed=3)
        digest.add(trace.gap, trace.certificate, trace.bound, trace.level, trace.reward, trace.replanned)
        digest.add(np.asarray(agent.policy()))
    digest.add([(level.size, level.bound, level.radius) for level in agent.levels()])
    digest.add(agent.episodes, agent.mistake_bound(0.1), agent.guarantee)
    return agent


def of_search(case: cases.Case, digest: Digest) -> Any:
    """Batches asked for and told until so many pulls are made."""
    search = case.make()
    while not search.done and search.answer.pulls < PULLS:
        batch = search.ask()
        digest.add(batch.arms, batch.counts)
        search.tell(search._sample(case.instance, 3))
    digest.add(search.done, *search.answer)
    return search


OF_KIND = {"bandit": of_bandit, "mdp": of_mdp, "search": of_search}


def bits(case: cases.Case) -> tuple[str, float]:
    """The digest of a case, and the sum of all its numbers but those of the state."""
    digest = Digest()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agent = OF_KIND[case.cls.kind](case, digest)
    digest.add(*learned(agent))
    return digest.text(), digest.total


def machine() -> str:
    """What the bits depend on beside the code."""
    name = config.CPU_NAME or binding.get_host_cpu_name()
    features = config.CPU_FEATURES or binding.get_host_cpu_features().flatten()
    versions = " ".join(f"{name} {version(name)}" for name in ("llvmlite", "numpy", "scipy"))
    return f"{name} {hashlib.sha256(features.encode()).hexdigest()[:8]}, {versions}"


def written() -> dict[str, Any]:
    """The file."""
    found: dict[str, Any] = json.loads(WRITTEN.read_text())
    return found


def test_every_case_is_written_down():
    assert list(written()["cases"]) == list(CASES)


def test_same_bits():
    file = written()
    found = {label: bits(case) for label, case in CASES.items()}
    if file["machine"] == machine():
        assert [label for label in CASES if found[label][0] != file["cases"][label][0]] == []
    else:
        near = {label: found[label][1] == pytest.approx(file["cases"][label][1], rel=1e-6) for label in CASES}
        assert len([label for label in CASES if not near[label]]) <= len(CASES) // 20, near


def test_one_bit_is_seen():
    """The control: λ larger by one part in 10^14."""
    case = CASES["OFUL"]
    nudged = cases.Case("OFUL", case.cls, case.instance, {"regularization": 0.7 * (1 + 1e-14)})
    assert bits(nudged)[0] != bits(case)[0]


if __name__ == "__main__":
    found = {label: bits(case) for label, case in CASES.items()}
    WRITTEN.write_text(json.dumps({"machine": machine(), "cases": found}, indent=1) + "\n")
