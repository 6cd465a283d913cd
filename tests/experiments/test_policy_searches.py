"""Searches for a policy, and forced episodes, from a TOML file: played, counted, and refused where they do not fit."""

import numpy as np
import polars as pl
import pytest

import unipac
from unipac import report
from unipac.envs import random_anchors, random_candidates
from unipac.experiments import SpecError, read, run
from unipac.experiments.results import ends, load

BOTH = """
seeds = 2
rounds = 100_000_000

[agents.planning]
agent = "CertifiedPlanning"
eps = 0.3
delta = 0.1

[agents.olive]
agent = "OLIVE"
eps = 0.5
delta = 0.1

[instances.anchors]
instance = "random_anchors"
n_states = 6
n_actions = 2
anchors = 3
discount = 0.5

[instances.functions]
instance = "random_candidates"
candidates = 4
"""


@pytest.fixture
def folder(tmp_path):
    """Run a file with these tables, and tell where the results are."""

    def made(text, name="results"):
        file = tmp_path / "searches.toml"
        file.write_text(text)
        assert run([(read(file), tmp_path / name)]).failures == []
        return tmp_path / name

    return made


def test_searches_for_a_policy_run_from_a_file(folder):
    place = folder(BOTH)
    rows = load(place).curves
    pairs = rows.select(pl.col("agent", "instance").cast(pl.String)).unique(maintain_order=True).rows()
    assert set(pairs) == {("planning", "anchors"), ("olive", "functions")}
    assert rows["kind"].cast(pl.String).unique().to_list() == ["search"]
    assert rows["certified"].all()
    assert (rows["violations"] == 0).all()
    for name, eps in (("planning", 0.3), ("olive", 0.5)):
        mine = rows.filter(pl.col("agent").cast(pl.String) == name)
        assert len(mine) == 2
        assert (mine["regret"] <= mine["certified_regret"]).all()
        assert (mine["certified_regret"] <= eps + 1e-12).all()
        assert (mine["delta"] == 0.1).all()
        assert mine["round"].n_unique() >= 1
        assert (mine["free"] == 1).all()
    (section,) = report.sections(place)
    told = [figure.finding for figure in section.figures if figure.name == "pulls"]
    assert [finding.seen for finding in told] == [True]
    assert "0 of 4 answers did not hold" in told[0].observation


def test_a_cell_is_the_search_by_hand(folder):
    """The same instance, the same samples, the gap of the same policy."""
    from unipac.experiments.making import number_of

    rows = load(folder(BOTH)).curves
    for name, agent, factory, given in (
        ("planning", unipac.CertifiedPlanning, random_anchors, {"eps": 0.3}),
        ("olive", unipac.OLIVE, random_candidates, {"eps": 0.5}),
    ):
        seeds = np.random.SeedSequence(1).spawn(3)
        size = {"n_states": 6, "n_actions": 2, "anchors": 3, "discount": 0.5} if name == "planning" else {}
        size |= {} if name == "planning" else {"candidates": 4}
        mdp = factory(seed=number_of(seeds[0]), **size)
        search = agent.made_for(mdp, delta=0.1, **given)
        answer = search.run(mdp, seed=number_of(seeds[2]), max_pulls=10**8)
        if name == "planning":
            gap = float((mdp.optimal_value() - mdp.policy_value(answer.policy)).max())
        else:
            value = unipac.envs.policy_value(mdp, answer.policy)[0]
            gap = float(mdp.initial @ (mdp.optimal_value() - value))
        row = rows.filter((pl.col("agent").cast(pl.String) == name) & (pl.col("seed") == 1)).row(
            0, named=True
        )
        assert (row["round"], row["regret"]) == (answer.pulls, max(gap, 0.0))
        assert row["certified_regret"] == answer.certificate


def test_a_search_stopped_early_has_a_certificate(folder):
    place = folder(BOTH.replace("100_000_000", "300"))
    rows = load(place).curves.filter(pl.col("agent").cast(pl.String) == "planning")
    assert (rows["round"] <= 300).all()
    assert (rows["certified_regret"] > 0.3).all()
    assert (rows["violations"] == 0).all()


def test_without_the_truth_among_them_nothing_is_certified(folder):
    """The assumption of OLIVE is that Q* is a candidate."""
    wrong = np.ones((2, 2, 3, 2)).tolist()
    rows = load(folder(OLIVE_ALONE.replace("eps = 0.5", f"eps = 0.5\nfunctions = {wrong}"))).curves
    assert not rows["certified"].any()
    rows = load(folder(OLIVE_ALONE, "with")).curves
    assert rows["certified"].all()


OLIVE_ALONE = """
seeds = 1
rounds = 100_000_000
[agents.olive]
agent = "OLIVE"
eps = 0.5
[instances.functions]
instance = "random_candidates"
seed = 3
"""

WRONG = {
    "a bandit": (
        ("random_anchors", "sphere"),
        r"\[agents\.planning\]: CertifiedPlanning is for discounted MDPs, and there is none",
    ),
    "another argument": (
        ("discount = 0.5", "gamma = 0.5"),
        r"\[instances\.anchors\] gamma: no such argument",
    ),
    "discount of the search": (
        ("delta = 0.1", "discount = 0.5"),
        r"\[agents\.planning\] discount: must not be given, it comes from the instance",
    ),
    "a wrong value": (
        ("discount = 0.5", "discount = 1.5"),
        r"\[instances\.anchors\]: discount must be from 0",
    ),
    "eps": (("eps = 0.3", "eps = 0.0"), r"\[agents\.planning\] on anchors: eps must be"),
    "no functions": (
        ('"random_candidates"\ncandidates = 4', '"river_swim"\nn_states = 3\nhorizon = 3'),
        r"\[agents\.olive\] on functions: functions must be given for river_swim, which lists no candidates",
    ),
    "too much reward": (
        ('"random_candidates"\ncandidates = 4', '"river_swim"\nn_states = 3\nhorizon = 6'),
        r"\[agents\.olive\] on functions: instance must be an MDP whose episodes bring at most 1",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named(what, tmp_path):
    (before, after), words = WRONG[what]
    text = BOTH.replace(before, after, 1)
    assert text != BOTH
    if what == "a bandit":
        text = text.replace("n_states = 6\nn_actions = 2\nanchors = 3\ndiscount = 0.5\n", "")
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(SpecError, match=words):
        read(file)


def test_an_instance_without_a_search(tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text(
        'rounds = 10\n[agents.a]\nagent = "CertVI"\n[instances.r]\ninstance = "river_swim"\n'
        '[instances.d]\ninstance = "random_anchors"\n'
    )
    with pytest.raises(SpecError, match=r"\[instances\.d\]: no agent plays it.* agents for discounted MDPs"):
        read(file)


# -- forced episodes ----------------------------------------------------------------------------

KILLER = """
seeds = 1
rounds = 3000
[agents.nested]
agent = "NestedVTR"
[agents.plain]
agent = "UCRLVTR"
radius = "mixture"
[instances.killer]
instance = "vtr_killer"
[instances.killer.sweep]
forced = [1_000, 1_000_000_000_000]
"""


def test_forced_episodes_are_taken_in_one_step(folder):
    """As in tests/mdp/mixture/test_killer.py, by hand."""
    results = load(folder(KILLER))
    last = ends(results.mistakes.filter(pl.col("eps") == 0.25))
    found = {(str(r["agent"]), str(r["instance"])): r["mistakes"] for r in last.iter_rows(named=True)}
    assert len(found) == 4
    for (name, instance), mistakes in found.items():
        forced = 1000 if instance.endswith("=1000") else 10**12
        mdp = unipac.envs.vtr_killer(forced)
        agent = (
            unipac.NestedVTR.made_for(mdp)
            if name == "nested"
            else unipac.UCRLVTR.made_for(mdp, radius="mixture")
        )
        agent.absorb(mdp.forced_episode(), times=forced)
        gaps = agent.play(mdp, episodes=3000, seed=0).gap  # what happens hardly depends on chance
        assert abs(mistakes - int((gaps > 0.25).sum())) <= 3
    end = ends(results.curves)
    assert (end["free"] == 3000).all()
    assert sorted(end["round"].unique().to_list()) == [4000, 10**12 + 3000]
    assert (end["violations"] == 0).all()
    assert end["certified_regret"].max() < 10**4  # forced episodes claim nothing


def test_agents_that_cannot_are_refused_where_there_are_too_many(tmp_path):
    file = tmp_path / "killer.toml"
    text = KILLER.replace("NestedVTR", "CertVI")
    file.write_text(text)
    with pytest.raises(
        SpecError, match=r"CertVI would play the 1,000,000,000,000 forced episodes of vtr_killer"
    ):
        read(file)
    file.write_text(text.replace(", 1_000_000_000_000", ""))
    run([(read(file), tmp_path / "few")])
    end = ends(load(tmp_path / "few").curves)
    assert end["round"].to_list() == [4000, 4000]
