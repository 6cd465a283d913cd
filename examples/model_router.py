"""Route requests to one of five models by their features: quality minus cost, late rewards, a verdict.

    python examples/model_router.py --requests 4000

Five models differ in price and in what they are good at. A request tells its length, its kind and whether it is urgent;
how well a model answered it is known later, or never. The reward is quality minus cost, within [−0.5, 1]. Every
reward is learned when its window of 50 requests ends, so that certificates hold.
"""

from __future__ import annotations

import argparse

import numpy as np

import unipac
from unipac import features

MODELS = ("tiny", "small", "code", "long", "large")
KINDS = ("chat", "code", "summary")
COST = dict(zip(MODELS, (0.00, 0.05, 0.12, 0.15, 0.35), strict=True))
NOISE = 0.15
WINDOW = 50.0
LOST = 0.05


def request(rng: np.random.Generator) -> dict[str, object]:
    """What is known when a request comes."""
    return {
        "tokens": float(rng.uniform(0, 8000)),
        "kind": str(rng.choice(KINDS)),
        "urgent": bool(rng.random() < 0.3),
    }


def expected(row: dict[str, object], model: str) -> float:
    """Quality minus cost, on average: what nobody knows. Linear in the features, for each model."""
    length = float(row["tokens"]) / 8000  # type: ignore[arg-type]
    quality = {"tiny": 0.45 - 0.25 * length, "small": 0.55 - 0.15 * length, "code": 0.35 - 0.05 * length,
               "long": 0.35 + 0.35 * length, "large": 0.80}[model]  # fmt: skip
    if row["kind"] == "code":
        quality += {"code": 0.45, "large": 0.05}.get(model, -0.15)
    if row["urgent"] and model == "large":
        quality -= 0.15
    return quality - COST[model]


def main() -> None:
    """Decide, hear of it later, look at the certificates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=20_000)
    count = parser.parse_args().requests
    rng = np.random.default_rng(0)
    columns = features.Columns(
        ranges={"tokens": (0, 8000)}, categories={"kind": KINDS}, booleans=["urgent"], missing="error",
        unknown="error",
    )  # fmt: skip
    phi = features.Blocks(MODELS, columns)
    now = [0.0]
    agent = unipac.Guarded(unipac.LinUCB(phi.dim, alpha=0.5), noise=NOISE, norm=2.0, reward_range=(-0.5, 1.0))
    router = unipac.Deployment(agent, phi, window=WINDOW, default=None, clock=lambda: now[0])
    usual = {"tokens": 6000.0, "kind": "code", "urgent": False}
    question = phi(usual, MODELS)
    waiting: list[tuple[float, int, float]] = []
    router.watch("long code", question, eps=0.25)
    losses, certificates, taken = np.empty(count), np.empty(count), []
    print(f"{'requests':>9} {'lost a request':>15} {'certificate':>12}   routed to")
    for k in range(count):
        now[0] += 1.0
        for late in [late for late in waiting if late[0] <= now[0]]:
            waiting.remove(late)
            router.reward(late[1], late[2])
        row = request(rng)
        decision = router.decide(row, MODELS, id=k)
        means = [expected(row, model) for model in MODELS]
        losses[k], certificates[k] = max(means) - means[decision.index], decision.certificate
        taken.append(decision.label)
        if rng.random() > LOST:  # the others are never heard of again, whatever their reward
            value = means[decision.index] + NOISE * rng.standard_normal()
            waiting.append((now[0] + rng.uniform(1, 40), k, float(value)))
        if k + 1 in (count // 16, count // 4, count):
            part = slice((k + 1) // 2, k + 1)
            shares = ", ".join(f"{name} {taken[part].count(name) / len(taken[part]):.0%}" for name in MODELS)
            print(f"{k + 1:9,} {losses[part].mean():15.4f} {np.median(certificates[part]):12.3f}   {shares}")
    verdict = router.settled("long code")
    held = bool((losses <= certificates + 1e-9).all())
    print(f"every request lost at most its certificate: {held}; drift alarm: {router.drift.alarm}")
    best = max(MODELS, key=lambda model: expected(usual, model))
    said = (
        "none yet"
        if verdict is None
        else f"{verdict.label}, within {verdict.certificate:.2f}, after event {verdict.seq:,}"
    )
    print(f"for long code that can wait: {said} (in truth {best})")


if __name__ == "__main__":
    main()
