"""What a user tries first, with the installed package: decide, learn, save, load, play."""

import tempfile
from pathlib import Path

import unipac

assert "site-packages" in unipac.__file__, unipac.__file__
agent = unipac.NestedOFUL(dim=2, noise=0.1)
for _ in range(50):
    decision = agent.choose([[1.0, 0.0], [0.6, 0.8]])
    agent.update(decision, reward=float(decision.action @ [0.6, 0.8]))
assert decision.certified
with tempfile.TemporaryDirectory() as folder:
    agent.save(Path(folder) / "agent")
    again = unipac.load(Path(folder) / "agent")
assert (
    again.choose([[1.0, 0.0], [0.6, 0.8]]).certificate == agent.choose([[1.0, 0.0], [0.6, 0.8]]).certificate
)
trace = unipac.NestedOFUL(3, noise=0.1).play(
    unipac.envs.sphere(dim=3, n_actions=4, noise=0.1), rounds=100, seed=0
)
assert len(trace.gap) == 100
print(f"unipac {unipac.__version__}: decides, learns, saves, loads and plays")
