"""LinGapE asks for what the slow transcription asks for, and says the same of it."""

import math

import numpy as np
import pytest

import unipac

pytestmark = pytest.mark.nojit

TIE = 1e-9


class Judge:
    """Algorithm 1 of Xu, Honda and Sugiyama (2018), greedy, with dense inverses; nothing is kept but sums."""

    def __init__(self, arms, targets, delta, eps, noise, norm, lam):
        self.Z = arms if targets is None else targets
        self.X, self.delta, self.eps, self.R, self.S, self.lam = arms, delta, eps, noise, norm, lam
        self.A, self.b = lam * np.eye(arms.shape[1]), np.zeros(arms.shape[1])

    def add(self, arm, total, count):
        x = self.X[arm]
        self.A += count * np.outer(x, x)
        self.b += total * x

    def compared(self):
        """The target that leads, how much another may be better, and every arm's gain for telling the two apart."""
        inverse = np.linalg.inv(self.A)
        means = self.Z @ inverse @ self.b
        i = int(np.argmax(means))
        _, logdet = np.linalg.slogdet(self.A / self.lam)
        C = math.sqrt(self.R**2 * (logdet + 2 * math.log(1 / self.delta)) + self.lam * self.S**2)
        rivals = []
        for j in range(len(self.Z)):
            y = self.Z[j] - self.Z[i]
            rivals.append(-math.inf if j == i else means[j] - means[i] + C * math.sqrt(y @ inverse @ y))
        j = int(np.argmax(rivals))
        y = self.Z[i] - self.Z[j]
        after = [y @ np.linalg.inv(self.A + np.outer(a, a)) @ y for a in self.X]
        return i, means, rivals, np.array(after), y @ inverse @ y

    def largest(self, i):
        return self.S * max(math.dist(z, self.Z[i]) for z in self.Z)


def follow(search, instance, lam, pulls, seed):
    """The judge follows the search, and says at each step whether it would have asked and answered the same."""
    X = np.array(search.arms)
    judge = Judge(X, search.targets, search.delta, search.eps, search.noise, search.norm, lam)
    assert search.ask().arms.tolist() == list(range(len(X)))
    assert search.ask().counts.tolist() == [1] * len(X)
    assert search.answer.certificate == pytest.approx(judge.largest(0))
    ties = 0
    while not search.done and search.pulls < pulls:
        batch = search.ask()
        sums = instance.pulls(batch.arms, batch.counts, batch=len(search.state), seed=seed)
        search.tell(sums)
        for arm, total, count in zip(batch.arms, sums, batch.counts, strict=True):
            judge.add(arm, total, count)
        i, means, rivals, after, before = judge.compared()
        answer = search.answer
        if answer.index != i:  # a tie
            assert means[answer.index] == pytest.approx(means[i], abs=TIE)
            ties += 1
            continue
        gap = max(rivals)
        assert answer.certificate == pytest.approx(min(max(gap, 0), judge.largest(i)), rel=1e-7, abs=1e-9)
        assert search.done == (gap <= search.eps) or abs(gap - search.eps) < TIE
        if not search.done:
            (pull,) = search.ask().arms
            assert search.ask().counts.tolist() == [1]
            second = sorted(rivals)[-2] if len(rivals) > 2 else -math.inf
            if gap - second > TIE:  # the rival is one
                assert after[pull] <= after.min() + 1e-7 * before
    assert ties < 5
    return search


@pytest.mark.parametrize("lam", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("kind", ["soare", "random", "collinear", "tied"])
def test_batches_and_certificates_are_those_of_the_judge(kind, lam):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((6, 3))
    X /= 1.1 * np.linalg.norm(X, axis=1, keepdims=True)
    theta, eps = np.array([0.5, -0.3, 0.6]), 0.0
    if kind == "collinear":
        X[1:4] = X[0] * np.array([[0.5], [-0.7], [1e-3]])
    elif kind == "tied":
        X[1], X[4], eps = X[0], X[5], 0.05
    elif kind == "soare":
        X, theta = (unipac.envs.soare(3, 0.4).actions, [1.0, 0.0, 0.0])
    instance = unipac.envs.fixed_arms(X, theta, noise=0.5)
    search = unipac.LinGapE.made_for(instance, regularization=lam, eps=eps, delta=0.1)
    follow(search, instance, lam, 1500, seed=1)
    assert search.pulls >= 20


@pytest.mark.parametrize("lam", [0.3, 2.5])
@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_targets_that_cannot_be_pulled(eps, lam):
    """The best of vectors between and beyond the arms; the answer is a target, and within eps of the best."""
    X = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 0.5], [0.0, 0.6, -0.6], [0.0, 0.3, -0.3]])
    Z = np.array([[0.2, 0.1, 0.9], [1.4, -0.5, 0.3], [0.7, 0.7, -0.1], [1.3, -0.5, 0.3]])
    theta = np.array([0.6, -0.2, 0.5])
    instance = unipac.envs.fixed_arms(X, theta, noise=0.3)
    search = unipac.LinGapE.made_for(instance, targets=Z, regularization=lam, eps=eps, norm=1.5)
    follow(search, instance, lam, 6000, seed=3)
    assert search.done
    means = Z @ theta
    assert means.max() - means[search.answer.index] <= search.answer.certificate <= eps
    assert search.answer.counts.shape == (5,)
    alone = unipac.LinGapE(X, targets=Z[:1])
    assert alone.done
    assert (alone.answer.certificate, alone.answer.pulls) == (0.0, 0)
    with pytest.raises(ValueError, match="targets must be such that their differences lie in the span"):
        unipac.LinGapE(X[:2], targets=Z)


def test_one_dimension_and_two_arms():
    instance = unipac.envs.fixed_arms([[0.5], [0.7]], [-1.0], noise=0.3)
    search = unipac.LinGapE.made_for(instance, regularization=2.5)
    follow(search, instance, 2.5, 3000, seed=2)
    assert search.done
    assert search.answer.index == 0


def test_one_arm_needs_no_pull():
    search = unipac.LinGapE([[0.3, 0.4]])
    assert search.done
    assert (search.answer.index, search.answer.certificate, search.answer.pulls) == (0, 0.0, 0)


def test_the_judge_finds_another_radius():
    """A control: with a smaller noise the certificates are no longer those of the judge."""
    instance = unipac.envs.soare(3, 0.4, noise=0.5)
    search = unipac.LinGapE.made_for(instance, regularization=0.3)
    with pytest.raises(AssertionError):
        follow(search, instance, 0.31, 500, seed=1)


def test_a_regularization_that_is_lost_to_rounding_is_refused():
    with pytest.raises(ValueError, match="regularization must be at least 1e-10"):
        unipac.LinGapE(np.eye(2), regularization=1e-11)
    with pytest.raises(ValueError, match="regularization must be at least 1e-06"):
        unipac.LinGapE(100.0 * np.eye(2), regularization=1e-7)
    assert unipac.LinGapE(1e-3 * np.eye(2), regularization=1e-11).regularization == 1e-11
