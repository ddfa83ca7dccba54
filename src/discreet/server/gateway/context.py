"""The server context: the services that the sessions of one server share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from discreet.engines.databases.database import Database
from discreet.guard.control import ControlStore
from discreet.policy import model
from discreet.server.gateway.deadlines import Deadlines
from discreet.server.gateway.labels import ClearanceLabels
from discreet.server.gateway.large_statements import ParseQueue
from discreet.server.gateway.pending_rights import PendingRights
from discreet.server.gateway.plans import PlanCache
from discreet.server.gateway.private_answers import PrivateAnswers
from discreet.server.gateway.vault import SessionVault
from discreet.server.observe.statements import StatementObserver
from discreet.server.settings import Settings


@dataclass(frozen=True)
class ServerContext:
    """The services of one server; a session takes from it what its statements need."""

    settings: Settings
    policy: model.Policy | None
    clock: Callable[[], datetime]
    scratch: str  # a private folder for temporary files
    database: Database
    control: ControlStore
    pending: PendingRights
    labels: ClearanceLabels
    vault: SessionVault
    plans: PlanCache
    private_answers: PrivateAnswers
    parse_queue: ParseQueue
    deadlines: Deadlines
    observer: StatementObserver

    @property
    def defaults(self) -> Mapping[str, str]:
        """The settings of a new session that this server's settings give."""
        found = {
            "discreet.epsilon": self.settings.epsilon,
            "discreet.delta": self.settings.delta,
        }
        return {name: value for name, value in found.items() if value}
