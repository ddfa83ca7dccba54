"""Spans reach a collector of OTLP, and hold neither texts nor names of users."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from fastapi.testclient import TestClient
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from discreet.errors import StatementFailed
from discreet.server.http.app import make_app

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def collector():
    """A collector that keeps the bodies it gets."""
    bodies: list[bytes] = []

    class Collect(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collect)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", bodies
    server.shutdown()
    thread.join()


def spans_in(bodies: list[bytes]) -> list:
    return [
        span
        for body in bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def test_a_statement_is_a_span_below_that_of_the_request(collector, open_server, connect):
    endpoint, bodies = collector
    opened = open_server(tracing={"endpoint": endpoint})
    web = TestClient(make_app(opened.server, opened.authenticator, is_encrypted=True))
    answer = web.post(
        "/v1/query",
        json={"statement": "SELECT 'canary' AS canary"},
        headers={"traceparent": f"00-{TRACE}-{PARENT}-01"},
        auth=("admin", "a long password"),
    )
    assert answer.status_code == 200
    client = connect(opened)
    client.run("CREATE TABLE canaries (a int PRIMARY KEY); INSERT INTO canaries VALUES (1)")
    with pytest.raises(StatementFailed):
        client.run("INSERT INTO canaries VALUES (1)")
    opened.server.context.observer.close()
    first, *_, second = spans_in(bodies)
    assert (first.name, first.trace_id.hex(), first.parent_span_id.hex()) == (
        "query",
        TRACE,
        PARENT,
    )
    assert first.end_time_unix_nano > first.start_time_unix_nano
    assert (second.parent_span_id, second.status.code) == (b"", 2)
    values = {item.key: item.value.string_value for item in second.attributes}
    assert values["db.response.status_code"] == "23505"
    assert values["discreet.session"] == client.session.id
    assert not any(b"canary" in body or b"admin" in body for body in bodies)


def test_a_collector_that_does_not_answer_harms_no_statement(open_server, connect):
    opened = open_server(tracing={"endpoint": "http://127.0.0.1:9"})
    assert connect(opened).rows("SELECT 1") == [(1,)]


def test_a_forged_parent_is_ignored(collector, open_server):
    endpoint, bodies = collector
    opened = open_server(tracing={"endpoint": endpoint})
    web = TestClient(make_app(opened.server, opened.authenticator, is_encrypted=True))
    for forged in ("x", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "00-" + "a" * 5000):
        answer = web.post(
            "/v1/query",
            json={"statement": "SELECT 1"},
            headers={"traceparent": forged},
            auth=("admin", "a long password"),
        )
        assert answer.status_code == 200
    opened.server.context.observer.close()
    assert [span.parent_span_id for span in spans_in(bodies)] == [b"", b"", b""]
