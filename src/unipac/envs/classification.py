"""Bandits made of classification data: name the label, learn only whether it was right."""

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac.envs.instance import BanditInstance, FloatArray, read_only


class _Classification(BanditInstance):
    """Context x as action a is the vector with x in block a; it pays 1 if a is the label."""

    def __init__(self, name: str, features: FloatArray, labels: NDArray[np.intp]) -> None:
        self._features = read_only(features)
        self._hits = read_only(np.eye(labels.max() + 1)[labels])
        n_actions, width = self._hits.shape[1], features.shape[1]
        best = np.linalg.lstsq(self._features, self._hits)[0]
        norm = max(1.0, float(np.linalg.norm(best)))
        super().__init__(name, n_actions * width, n_actions, norm=norm, noise=0.5)

    def _contexts(self, index: int, rng: np.random.Generator, actions: FloatArray, means: FloatArray) -> None:
        samples = rng.integers(len(self._features), size=self.block)
        n, width = self.n_actions, self._features.shape[1]
        label = np.arange(n)
        actions[:] = 0.0
        actions.reshape(self.block, n, n, width)[:, label, label] = self._features[samples, None, :]
        means[:] = self._hits[samples]

    def _noise(self, rng: np.random.Generator) -> FloatArray:
        return np.zeros(self.block)

    def __repr__(self) -> str:
        samples = len(self._features)
        return f"<{self.name}: {self.n_actions} labels in dimension {self.dim}, {samples} samples>"


def digits(components: int = 8) -> BanditInstance:
    """Handwritten digits of scikit-learn as a bandit with ten actions.

    Each round shows one of the 1797 images, drawn uniformly with the seed of ``rounds``. The
    context x consists of standardised principal components and a constant, over the largest norm
    among the images, so that |x| <= 1. Action a is x in block a of 10 blocks. It pays 1 if a is
    the label and 0 otherwise: `means` and `rewards` are both this indicator, so a gap is 1 for a
    wrong label and 0 for the right one.

    The mean reward given x is not linear: `theta` is None, and `norm` is that of the best linear
    predictor of the rewards. No noise is added; `noise` is 1/2, the sub-Gaussian scale of any
    reward in [0, 1] about its mean given x.

    Args:
        components: number of principal components, 1 to 61 (the rank of the images).

    Raises:
        ImportError: if scikit-learn is missing.

    Example:
        >>> instance = digits(components=4)
        >>> instance
        <digits: 10 labels in dimension 50, 1797 samples>
        >>> instance.rounds(0, 3, seed=0).rewards.sum(axis=1)
        array([1., 1., 1.])
    """
    components = check.count("components", components)
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError('envs.digits needs scikit-learn: pip install "unipac[data]"') from error
    images, labels = load_digits(return_X_y=True)
    rank = int(np.linalg.matrix_rank(images - images.mean(axis=0)))
    check.require(components <= rank, "components", f"an integer <= {rank}", components)
    scores = _standard_scores(images, components)
    features = np.column_stack([scores, np.ones(len(scores))])
    features /= np.linalg.norm(features, axis=1).max()
    return _Classification("digits", features, labels)


def _standard_scores(samples: FloatArray, components: int) -> FloatArray:
    """Principal components with variance 1; the sign makes the largest loading positive."""
    left, _, axes = np.linalg.svd(samples - samples.mean(axis=0), full_matrices=False)
    axes = axes[:components]
    largest = np.abs(axes).argmax(axis=1)
    signs = np.sign(axes[np.arange(components), largest])
    return np.asarray(np.sqrt(len(samples)) * left[:, :components] * signs)
