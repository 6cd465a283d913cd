"""What Prometheus may ask for."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.utils import floatToGoString

if TYPE_CHECKING:
    from unipac.serve.service import Service

BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """Counts requests; all other metrics are read when Prometheus asks for them."""

    def __init__(self, service: Service) -> None:
        self._service, self._registry = service, CollectorRegistry()
        self._counts: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}
        self._registry.register(self)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request; this runs in the loop's thread for each, so it does only what it must."""
        self._counts[route, status] += 1
        if route not in self._times:
            self._times[route], self._sums[route] = [0] * (len(BUCKETS) + 1), 0.0
        self._times[route][bisect_left(BUCKETS, seconds)] += 1
        self._sums[route] += seconds

    def _answers(self) -> Iterator[Metric]:
        requests = CounterMetricFamily("unipac_requests", "Requests answered", labels=["route", "status"])
        for (route, status), count in [*self._counts.items()]:
            requests.add_metric([route, str(status)], count)
        yield requests
        seconds = HistogramMetricFamily(
            "unipac_request_seconds", "From a request to its answer", labels=["route"]
        )
        bounds = (*map(floatToGoString, BUCKETS), "+Inf")
        for route, counts in [*self._times.items()]:
            seconds.add_metric([route], [*zip(bounds, accumulate(counts), strict=True)], self._sums[route])
        yield seconds

    def text(self) -> bytes:
        """In Prometheus' format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """All metrics: of each route, of the writer, and of each deployment."""
        yield from self._answers()
        writer = self._service.writer
        for name, told, value in (
            ("unipac_commits", "Transactions", writer.commits),
            ("unipac_commit_seconds", "Seconds in transactions", writer.seconds),
            ("unipac_rows", "Records on the disk", writer.durable),
        ):
            yield CounterMetricFamily(name, told, value=value)
        yield GaugeMetricFamily("unipac_waiting", "Answers that wait for the disk", value=writer.waiting)
        families = [
            GaugeMetricFamily(f"unipac_{name}", told, labels=["deployment"])
            for name, told in (
                ("events", "The number of the last event"),
                ("pending", "Decisions that wait"),
                ("consistent", "1 while no reward has refuted the assumptions"),
                ("drift_alarm", "1 if the alarm of drift rang"),
                ("explored_share", "Of all decisions"),
            )
        ]
        for name, held in list(self._service.held.items()):
            d = held.deployment
            found = (
                held.log.position().seq, d.pending, d.consistent, d.drift.alarm, held.series.share_explored or 0.0
            )  # fmt: skip
            for family, value in zip(families, found, strict=True):
                family.add_metric([name], float(value))
        yield from families
