"""Bandits from classification data: the agent chooses a label and learns only whether it is right."""

from __future__ import annotations

import gzip
import hashlib
import io
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._arrays import Array
from unipac.envs import BanditInstance
from unipac.envs.arrays import read_only

_FILES = {  # files of scikit-learn: path, SHA-256, lines before the table
    "digits": (
        "sklearn/datasets/data/digits.csv.gz",
        "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22",
        0,
    ),
    "breast_cancer": (
        "sklearn/datasets/data/breast_cancer.csv",
        "fed3eb72d0575ef6192293f5093c6e801b1476b577d0386bf4455504522172ed",
        1,
    ),
}


class Classification(BanditInstance):
    """A bandit whose action a in context x is the vector with x in block a; it pays 1 if a is the label.

    Attributes:
        contexts: x of every sample, (N, w), read-only.
        hits: reward of each action, (N, n), read-only.

    Example:
        >>> instance = Classification("shapes", np.eye(3), np.array([0, 1, 1]))
        >>> instance, instance.dim
        (<shapes: 2 labels in dimension 6, 3 samples>, 6)
        >>> instance.hits.tolist()                                  # what each label would pay, for each sample
        [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """

    def __init__(self, name: str, contexts: Array, labels: NDArray[np.intp]) -> None:
        self.contexts = read_only(contexts)
        self.hits = read_only(np.eye(labels.max() + 1)[labels])
        n_actions, width = self.hits.shape[1], contexts.shape[1]
        best = np.linalg.lstsq(self.contexts, self.hits)[0]
        norm = max(1.0, float(np.linalg.norm(best)))
        super().__init__(name, n_actions * width, n_actions, norm=norm, noise=0.5)
        self.blocks = n_actions

    def _contexts(self, index: int, rng: np.random.Generator, actions: Array, means: Array) -> None:
        samples = rng.integers(len(self.contexts), size=self.block)
        n, width = self.n_actions, self.contexts.shape[1]
        label = np.arange(n)
        actions[:] = 0.0
        actions.reshape(self.block, n, n, width)[:, label, label] = self.contexts[samples, None, :]
        means[:] = self.hits[samples]

    def _noise(self, rng: np.random.Generator) -> Array:
        return np.zeros(self.block)

    def __repr__(self) -> str:
        samples = len(self.contexts)
        return f"<{self.name}: {self.n_actions} labels in dimension {self.dim}, {samples} samples>"


def digits(components: int = 8) -> Classification:
    """Handwritten digits of scikit-learn as a bandit with ten actions.

    Each round shows one of the 1797 images, drawn uniformly with the seed of ``rounds``. The
    context x consists of standardised principal components and a constant, divided by the largest
    norm among the images, so that |x| <= 1. Action a is x in block a of 10 blocks. It pays 1 if a is
    the label and 0 otherwise: `means` and `rewards` are both this indicator, so the gap is 1 for a
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
    images, labels = _scikit_learn("digits")
    return Classification("digits", _contexts(images, components), labels)


def breast_cancer(components: int = 5) -> Classification:
    """Tumours of scikit-learn as a bandit with two actions, malignant and benign.

    It is built like `digits`, from 569 samples with 30 measurements each, which are standardised first.

    Args:
        components: number of principal components, 1 to 30.

    Raises:
        ImportError: if scikit-learn is missing.

    Example:
        >>> breast_cancer()
        <breast_cancer: 2 labels in dimension 12, 569 samples>
    """
    measured, labels = _scikit_learn("breast_cancer")
    standard = (measured - measured.mean(axis=0)) / measured.std(axis=0)
    return Classification("breast_cancer", _contexts(standard, components), labels)


def _scikit_learn(name: str) -> tuple[Array, NDArray[np.intp]]:
    """Samples (N, w) and labels (N,), from a file of scikit-learn, which is not imported."""
    member, digest, header = _FILES[name]
    try:
        contents = Path(str(distribution("scikit-learn").locate_file(member))).read_bytes()
    except (PackageNotFoundError, FileNotFoundError) as error:
        raise ImportError(f'data.{name} needs scikit-learn: pip install "unipac[data]"') from error
    actual = hashlib.sha256(contents).hexdigest()
    words = f"the file with SHA-256 {digest}, as in scikit-learn 1.9.1"
    check.require(actual == digest, member, words, actual)
    text = gzip.decompress(contents) if member.endswith(".gz") else contents
    table = np.loadtxt(io.BytesIO(text), delimiter=",", skiprows=header)
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.intp)


def _contexts(samples: Array, components: int) -> Array:
    """Principal components with variance 1 and a constant, scaled so that the largest norm is 1."""
    components = check.count("components", components)
    centred = samples - samples.mean(axis=0)
    rank = int(np.linalg.matrix_rank(centred))
    check.require(components <= rank, "components", f"an integer <= {rank}", components)
    scores = _standard_scores(centred, components)
    contexts = np.column_stack([scores, np.ones(len(scores))])
    contexts /= np.linalg.norm(contexts, axis=1).max()
    return contexts


def _standard_scores(centred: Array, components: int) -> Array:
    """Principal components with variance 1, with signs that make the largest loading positive."""
    left, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:components]
    largest = np.abs(axes).argmax(axis=1)
    signs = np.sign(axes[np.arange(components), largest])
    return np.asarray(np.sqrt(len(centred)) * left[:, :components] * signs)
