"""Metrics of a server in Prometheus' form: durations and counts, without values and names of users."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping

from prometheus_client import (
    CollectorRegistry,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from discreet.server.observe.kinds import KINDS

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OUTCOMES = ("allowed", "denied", "failed")
_STATEMENT_SECONDS = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
_WAITING_SECONDS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
_MOST_ACCOUNTS = 1000

disable_created_metrics()  # series that only say when a process started


class ServerMetrics:
    """The metrics of one server; what they are made from is read when they are asked for."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self._registry)
        statements = Histogram(
            "discreet_statement_seconds",
            "From the request to run a statement to its result, by kind and decision.",
            ("kind", "outcome"),
            buckets=_STATEMENT_SECONDS,
            registry=self._registry,
        )
        self._statements: Mapping[tuple[str, str], Callable[[float], None]] = {
            pair: statements.labels(*pair).observe for pair in itertools.product(KINDS, OUTCOMES)
        }
        self.observe_journal = Histogram(
            "discreet_journal_seconds",
            "From a decision to its entry being on the disk.",
            buckets=_WAITING_SECONDS,
            registry=self._registry,
        ).observe
        self.observe_queue = Histogram(
            "discreet_queue_seconds",
            "From the arrival of messages to the worker that handles them.",
            buckets=_WAITING_SECONDS,
            registry=self._registry,
        ).observe

    def observe_statement(self, kind: str, outcome: str, seconds: float) -> None:
        """Count a statement that ended."""
        self._statements[kind, outcome](seconds)

    def watch(self, name: str, text: str, read: Callable[[], float]) -> None:
        """Report a number that is read whenever metrics are asked for."""
        Gauge(name, text, registry=self._registry).set_function(read)

    def watch_queues(self, queues: Mapping[str, Callable[[], int]]) -> None:
        """Report the lengths of queues, by their names."""
        self._registry.register(_Queues(queues))

    def watch_decisions(self, counts: Mapping[str, int]) -> None:
        """Report how often was decided what."""
        self._registry.register(_Decisions(counts))

    def watch_budgets(self, read: Callable[[], Iterable[tuple[str, float, float]]]) -> None:
        """Report what accounts have left, as pairs of shares by the account's label."""
        self._registry.register(_Budgets(read))

    def text(self) -> str:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry).decode("utf-8")


class _Queues(Collector):
    def __init__(self, queues: Mapping[str, Callable[[], int]]) -> None:
        self._queues = queues

    def collect(self) -> Iterable[Metric]:
        found = GaugeMetricFamily(
            "discreet_queue_length", "What waits, by queue.", labels=["queue"]
        )
        for name, length in self._queues.items():
            found.add_metric([name], length())
        yield found


class _Decisions(Collector):
    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        found = CounterMetricFamily(
            "discreet_decisions", "Decisions in the journal.", labels=["decision"]
        )
        for decision, count in sorted(dict(self._counts).items()):
            found.add_metric([decision.replace(" ", "_")], count)
        yield found


class _Budgets(Collector):
    def __init__(self, read: Callable[[], Iterable[tuple[str, float, float]]]) -> None:
        self._read = read

    def collect(self) -> Iterable[Metric]:
        shares = sorted(self._read(), key=lambda item: item[1])
        epsilon = GaugeMetricFamily(
            "discreet_budget_epsilon_left_ratio", "What is left of epsilon.", labels=["account"]
        )
        delta = GaugeMetricFamily(
            "discreet_budget_delta_left_ratio", "What is left of delta.", labels=["account"]
        )
        # Each label is kept for ever by those who ask: those with least left come first.
        for label, epsilon_left, delta_left in shares[:_MOST_ACCOUNTS]:
            epsilon.add_metric([label], epsilon_left)
            delta.add_metric([label], delta_left)
        yield epsilon
        yield delta
        yield GaugeMetricFamily(
            "discreet_budget_accounts", "Accounts that were ever charged.", value=len(shares)
        )
