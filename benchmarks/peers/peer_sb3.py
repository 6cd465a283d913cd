"""stable-baselines3: DQN with its default settings on continuous MDPs; prints gaps of its greedy policy as JSON.

python benchmarks/peers/peer_sb3.py MDP SEED EPISODES, with the sources of unipac (MDP and exact values) on the path.

An observation is the state with the stage divided by H, as Q depends on both.
"""

import json
import sys
import time

import gymnasium
import numpy as np
import torch
from continuous import MDPS, checkpoints, gap_of
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback

from unipac.envs.gymnasium.continuous import ContinuousMDPEnv


class WithStage(gymnasium.ObservationWrapper):
    """The stage beside the state."""

    def __init__(self, env):
        super().__init__(env)
        k = env.mdp.n_coordinates
        self.observation_space = gymnasium.spaces.Box(0.0, 2.0, (k + 1,), dtype=np.float32)

    def observation(self, observation):
        """The state, and the stage divided by H."""
        return np.append(observation, self.env._stage / self.env.mdp.horizon).astype(np.float32)


class Looks(BaseCallback):
    """Looks at the greedy policy after some numbers of episodes."""

    def __init__(self, mdp, moments):
        super().__init__()
        self.mdp, self.moments, self.found = mdp, list(moments), []

    def _on_step(self):
        done = self.num_timesteps // self.mdp.horizon
        while self.moments and done >= self.moments[0]:
            self.found.append((self.moments.pop(0), gap_of(self.mdp, self.choose)))
        return True

    def choose(self, stage, states, phi):
        """The best actions by the Q-network."""
        seen = np.append(states, np.full((len(states), 1), stage / self.mdp.horizon), axis=1)
        with torch.no_grad():
            values = self.model.q_net(torch.as_tensor(seen, dtype=torch.float32))
        return values.argmax(dim=1).numpy()


if __name__ == "__main__":
    name, seed, episodes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    mdp = MDPS[name]()
    env = WithStage(ContinuousMDPEnv(mdp))
    began = time.process_time()
    looks = Looks(mdp, checkpoints(episodes))
    model = DQN("MlpPolicy", env, seed=seed)
    model.learn(episodes * mdp.horizon, callback=looks)
    print(json.dumps({"found": looks.found, "seconds": time.process_time() - began}))
