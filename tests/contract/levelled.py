"""The bandit agents with levels of ridge regressions, of which more is promised than of all."""

from unipac.bandits.levelled.agent import LevelledAgent
from unipac.registry import AGENTS

NAMES = [name for name, agent in AGENTS.items() if issubclass(agent, LevelledAgent)]
