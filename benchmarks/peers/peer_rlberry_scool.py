"""rlberry-scool: LSVI-UCB (one Gram matrix for all stages, all history in each pass) and UCBVI, bonuses of its own."""

import logging
import time

import numpy as np
from rlberry.envs.finite_mdp import FiniteMDP
from rlberry_scool.agents.features import FeatureMap
from rlberry_scool.agents.linear.lsvi_ucb import LSVIUCBAgent
from rlberry_scool.agents.ucbvi.ucbvi import UCBVIAgent

from serve import serve

logging.disable(logging.WARNING)


class Features(FeatureMap):
    """The given array (states, actions, d)."""

    def __init__(self, features):
        self.features = features
        self.shape = features.shape[2:]

    def map(self, observation, action):
        """The features of a pair."""
        return self.features[observation, action]


def answer(request):
    with np.load(request["problem"]) as problem:
        features, transitions, rewards = problem["features"], problem["transitions"], problem["rewards"]
        horizon, first = int(problem["horizon"]), int(problem["first_state"])
    env = FiniteMDP(rewards, transitions, initial_state_distribution=first)
    env.reseed(request["seed"])
    if request.get("agent") == "UCBVI":
        agent = UCBVIAgent(env, horizon=horizon, gamma=1.0)
        totals = []
        run = agent._run_episode
        agent._run_episode = lambda: totals.append(run())
    else:
        agent = LSVIUCBAgent(
            env,
            horizon=horizon,
            feature_map_fn=lambda _: Features(features),
            gamma=1.0,
            bonus_scale_factor=1.0,
            reg_factor=1.0,
        )
    begin, wall = time.process_time(), time.perf_counter()
    agent.fit(budget=request["episodes"])
    seconds, wall = time.process_time() - begin, time.perf_counter() - wall
    reward = float(np.mean(totals if request.get("agent") == "UCBVI" else agent._rewards))
    return {"rounds": request["episodes"], "seconds": seconds, "wall": wall, "reward": reward}


serve(["rlberry-scool", "rlberry", "numpy"], answer)
