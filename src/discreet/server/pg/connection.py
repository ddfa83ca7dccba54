"""One client's connection: login, then a loop of messages and responses."""

from __future__ import annotations

import asyncio

from discreet.errors import DiscreetError, StatementFailed
from discreet.guard.identity.authenticator import ClientInfo
from discreet.server.pg import messages
from discreet.server.pg.exchange import Exchange
from discreet.server.pg.failures import error_response
from discreet.server.pg.message_handler import MessageHandler, log_failure
from discreet.server.pg.server_state import PgServerState
from discreet.server.pg.startup import CancelRequest, Startup, authenticate_client, read_startup
from discreet.server.pg.wire import ClientGone, Wire
from discreet.server.session import Session

SHUTDOWN = StatementFailed("57P01", "terminating connection due to administrator command")


class ClientConnection:
    """A client's connection. Its session's calls run in a worker, one at a time."""

    def __init__(self, wire: Wire, state: PgServerState) -> None:
        self._wire, self._state, self._limits = wire, state, state.limits
        self._session: Session | None = None
        self._exchange: Exchange | None = None
        self.is_welcome = False

    async def serve(self) -> None:
        """Serve the client; no action of the client raises here."""
        try:
            await self._serve()
        except (ClientGone, ConnectionError):
            pass
        except TimeoutError:
            self._refuse(StatementFailed("08P01", "terminating connection due to timeout"))
        except Exception as error:  # noqa: BLE001 - a client's fault must not reach the others
            if not isinstance(error, DiscreetError):
                log_failure(error)
            self._refuse(error)
        finally:
            await self._close_session()

    def _refuse(self, error: BaseException) -> None:
        self._wire.write(error_response(error, severity="FATAL"))

    async def _close_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            try:
                await self._state.in_thread(session.close)
            except Exception as error:  # noqa: BLE001 - the client is gone; the others stay
                log_failure(error)
        self._wire.close()

    async def _serve(self) -> None:
        async with asyncio.timeout(self._limits.auth_timeout):
            asked = await read_startup(
                self._wire,
                tls=self._state.tls,
                require_tls=self._state.require_tls,
                within=self._limits.auth_timeout,
            )
            if isinstance(asked, CancelRequest):
                self._state.cancels.request(asked.process, asked.secret)
                return
            newcomer = self._client_info(asked)
            client = await self._state.in_thread(
                lambda: self._state.authenticator.recognize(newcomer)
            )
            method = await authenticate_client(
                self._wire, client, self._state.authenticator, self._state.in_thread
            )
        with self._state.register_client(self._wire, client.user):
            self.is_welcome = True
            await self._open_session(client, asked, method)

    def _client_info(self, startup: Startup) -> ClientInfo:
        wire, tls = self._wire, self._state.tls
        return ClientInfo(
            user=startup.user,
            address=wire.address,
            database=startup.database,
            is_encrypted=wire.is_encrypted,
            is_local=wire.is_local,
            certificate=wire.certificate() if wire.is_encrypted else None,
            sasl=startup.sasl,
            binding=tls.binding if tls is not None and wire.is_encrypted else None,
        )

    async def _open_session(self, client: ClientInfo, startup: Startup, method: str) -> None:
        state = self._state
        self._wire.write(messages.authentication(0))
        session = await state.in_thread(
            lambda: state.open_session(client, startup.parameters, method)
        )
        self._session = session
        conversation = MessageHandler(session, self._limits)
        process, secret = state.cancels.register(self.cancel)
        self._wire.on_lost = self.cancel
        try:
            greeting = await state.in_thread(conversation.initial_messages)
            key = messages.backend_key(process, secret)
            self._wire.write(greeting + key + messages.ready(session.transaction_status))
            self._exchange = Exchange(
                self._wire, conversation, self._limits, observe_wait=state.observe_wait
            )
            await self._exchange.run()
        finally:
            conversation.close()
            state.cancels.unregister(process)
            self._wire.on_lost = None

    def cancel(self) -> None:
        """Interrupt the running statement, if any."""
        session, exchange = self._session, self._exchange
        if exchange is not None and exchange.is_busy and session is not None:
            self._state.in_spare_thread(session.cancel)

    def stop(self) -> None:
        """Disconnect the client at its next request."""
        self._wire.stop(SHUTDOWN)

    def abort(self) -> None:
        """Disconnect the client now."""
        self.cancel()
        self._wire.stop(SHUTDOWN)
        self._wire.abort()
