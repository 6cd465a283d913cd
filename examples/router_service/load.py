"""Requests for the router of this folder, with rewards of a truth that is linear, and what came of them.

    UNIPAC_TOKEN=... python load.py --requests 5000

Some questions are asked twice, as a client does that has lost an answer: both answers must be the same.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from collections import Counter
from typing import Any

from unipac.serve.client import Client, new_id

MODELS = ("small", "code", "large")
COST = {"small": 0.05, "code": 0.1, "large": 0.3}
NOISE = 0.1
TWICE = 0.1


def request(rng: random.Random) -> dict[str, Any]:
    """What is known when a request comes."""
    return {"tokens": rng.randrange(8001), "kind": rng.choice(("chat", "code"))}


def expected(context: dict[str, Any], model: str) -> float:
    """Quality minus cost, on average: what the service does not know."""
    length = context["tokens"] / 8000
    quality = {"small": 0.7 - 0.4 * length, "code": 0.5 - 0.1 * length, "large": 0.75}[model]
    if context["kind"] == "code":
        quality += {"small": -0.1, "code": 0.3, "large": 0.05}[model]
    return quality - COST[model]


class Figures:
    """What came of the requests since the last line."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.certificates: list[float | None] = []
        self.taken: Counter[str] = Counter()

    def note(self, context: dict[str, Any], answer: dict[str, Any]) -> None:
        """One more decision."""
        best = max(expected(context, model) for model in MODELS)
        self.losses.append(best - expected(context, answer["action"]))
        self.certificates.append(answer["certificate"] if answer["certified"] else None)
        self.taken[answer["action"]] += 1

    def line(self, done: int) -> str:
        """As a row of the table."""
        known = [one for one in self.certificates if one is not None]
        middle = f"{statistics.median(known):12.3f}" if known else f"{'none':>12}"
        shares = ", ".join(f"{model} {self.taken[model] / len(self.losses):.0%}" for model in MODELS)
        return f"{done:9,} {statistics.mean(self.losses):15.4f} {middle}   {shares}"

    def broken(self) -> int:
        """Requests that lost more than their certificate."""
        pairs = zip(self.losses, self.certificates, strict=True)
        return sum(bound is not None and loss > bound + 1e-9 for loss, bound in pairs)


def main() -> None:
    """Ask, tell, count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", action="append", help="of an instance; several may be given")
    parser.add_argument("--deployment", default="router")
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--batch", type=int, default=20, help="questions that are sent together")
    parser.add_argument(
        "--rate", type=float, default=400, help="requests a second; 0: as many as there can be"
    )
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    rng, statuses, others, broken, figures = random.Random(told.seed), Counter[int](), 0, 0, Figures()
    client = Client(told.address or ["http://127.0.0.1:8080"], os.environ.get("UNIPAC_TOKEN"))
    router = client.deployment(told.deployment)
    begin, done = time.perf_counter(), 0
    print(f"{'requests':>9} {'lost a request':>15} {'certificate':>12}   routed to")
    while done < told.requests:
        if told.rate > 0:
            time.sleep(max(0.0, begin + done / told.rate - time.perf_counter()))
        rows = [request(rng) for _ in range(min(told.batch, told.requests - done))]
        asked = [{"decide": {"id": new_id(), "context": row, "actions": list(MODELS)}} for row in rows]
        answers = router.batch(asked)
        if rng.random() < TWICE:
            again = router.batch(asked)
            others += sum(one["body"] != two["body"] for one, two in zip(answers, again, strict=True))
            statuses.update(answer["status"] for answer in again)
        rewards = []
        for row, answer in zip(rows, answers, strict=True):
            if answer["status"] in (200, 201):
                figures.note(row, answer["body"])
                value = expected(row, answer["body"]["action"]) + rng.gauss(0, NOISE)
                rewards.append({"reward": {"id": answer["body"]["id"], "value": value}})
        statuses.update(answer["status"] for answer in (*answers, *router.batch(rewards)))
        before, done = done, done + len(rows)
        if before * 5 // told.requests < done * 5 // told.requests:
            print(figures.line(done), flush=True)
            broken, figures = broken + figures.broken(), Figures()
    seconds = time.perf_counter() - begin
    client.close()
    shown = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()))
    print(f"answers {shown}; {done / seconds:,.0f} requests a second")
    print(f"asked twice, answered in two ways: {others}; lost more than the certificate: {broken}")


if __name__ == "__main__":
    main()
