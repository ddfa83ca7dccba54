"""Spans of statements for OpenTelemetry, without texts, values and names of users."""

from __future__ import annotations

from typing import Any

from discreet.errors import MissingExtra

_FAILURE = "failed"


class SpanExporter:
    """Sends a span per statement to a collector, in batches and in the background.

    Args:
        endpoint: The address of a collector of OTLP over HTTP, such as http://127.0.0.1:4318.
        service: The name under which the spans appear.

    Raises:
        MissingExtra: OpenTelemetry is not installed.
    """

    def __init__(self, endpoint: str, *, service: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            raise MissingExtra(what="Tracing with OpenTelemetry", extra="otel") from None
        # Not from the environment: a resource found there may name users and machines.
        self._provider = TracerProvider(
            resource=Resource({"service.name": service}), shutdown_on_exit=False
        )
        exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=5)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("discreet")

    def add(
        self,
        kind: str,
        *,
        outcome: str,
        sqlstate: str | None,
        session: str,
        protocol: str,
        ended: int,
        seconds: float,
        parent: str | None,
    ) -> None:
        """Add the span of a statement that ended at `ended` nanoseconds of the clock.

        `parent` is a `traceparent` as in W3C Trace Context.
        """
        from opentelemetry.trace import SpanKind, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carrier = {} if parent is None else {"traceparent": parent}
        attributes: dict[str, Any] = {
            "db.system.name": "discreet",
            "db.operation.name": kind,
            "discreet.outcome": outcome,
            "discreet.session": session,
            "network.protocol.name": protocol,
        }
        if sqlstate is not None:
            attributes["db.response.status_code"] = sqlstate
        span = self._tracer.start_span(
            kind,
            context=TraceContextTextMapPropagator().extract(carrier),
            kind=SpanKind.SERVER,
            attributes=attributes,
            start_time=ended - int(seconds * 1e9),
        )
        if outcome == _FAILURE:
            span.set_status(StatusCode.ERROR)
        span.end(end_time=ended)

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()
