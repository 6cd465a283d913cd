"""Small random MDPs with everything that tables allow: rewards by chance, ends of episodes, rare outcomes."""

import numpy as np


class RandomMDP:
    """Each (stage, s, a) has a few outcomes (next state or -1, reward) with probabilities."""

    def __init__(self, S, A, H, *, seed, pooled, reward_range=(0.0, 1.0), ends=True, by_pair=False):
        self.S, self.A, self.H = S, A, H
        rng = np.random.default_rng(seed)
        low, high = reward_range
        self.outcomes = {}
        for h in range(1 if pooled else H):
            for s in range(S):
                for a in range(A):
                    k = rng.integers(1, 4)
                    after = rng.integers(-1 if ends and rng.random() < 0.3 else 0, S, k)
                    paid = low + (high - low) * rng.integers(0, 3, 1 if by_pair else k) / 2
                    chances = rng.dirichlet(np.full(k, rng.choice([0.2, 1.0])))
                    self.outcomes[h, s, a] = after, np.broadcast_to(paid, k), chances
        self.pooled = pooled
        self.rng = np.random.default_rng(seed + 1)

    def rewards(self):
        """(H, S, A), or (S, A) if pooled, where they depend on the pair only."""
        r = np.zeros((1 if self.pooled else self.H, self.S, self.A))
        for cell, (_, paid, _) in self.outcomes.items():
            r[cell] = paid[0]
        return r[0] if self.pooled else r

    def play(self, action):
        """An episode of a policy (H, S): states, actions, rewards, following."""
        steps, s = [], int(self.rng.integers(self.S))
        for h in range(self.H):
            a = int(action[h, s])
            after, paid, chances = self.outcomes[0 if self.pooled else h, s, a]
            j = self.rng.choice(len(chances), p=chances)
            steps.append((s, a, float(paid[j]), int(after[j])))
            s = int(after[j])
            if s < 0:
                break
        states, actions, rewards, following = zip(*steps, strict=True)
        return np.array(states), np.array(actions), np.array(rewards), np.array(following)
