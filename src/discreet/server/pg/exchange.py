"""The messages of one client after login: a thread of its own answers what the event loop receives.

Handing messages over by queues takes a third of what a task and a future for each of them would.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue

from discreet.errors import StatementFailed
from discreet.server.pg.limits import ProtocolLimits
from discreet.server.pg.message_handler import MessageHandler
from discreet.server.pg.messages import Frame
from discreet.server.pg.wire import ClientGone, Wire

PART = 64 * 1024  # bytes of a response that are sent together


class Exchange:
    """Passes messages to the thread that answers them, and its answers to the client, until one leaves.

    Everything but `_answer_messages` runs in the event loop. Messages that arrive during an answer wait,
    and so does the answer while the client does not read.
    """

    def __init__(
        self,
        wire: Wire,
        conversation: MessageHandler,
        limits: ProtocolLimits,
        *,
        observe_wait: Callable[[float], None],
    ) -> None:
        self._wire, self._conversation, self._limits = wire, conversation, limits
        self._observe_wait = observe_wait
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._inbox: SimpleQueue[tuple[float, Sequence[Frame]] | None] = SimpleQueue()
        self._timer: asyncio.TimerHandle | None = None
        self._may_go_on = threading.Event()  # set when the next part of an answer may be made
        self._is_answering = False  # the thread is at work
        self._is_blocked = False  # the client does not read
        self._has_begun = False  # a message, which is not complete
        self.is_busy = False  # whether a statement may be running
        self._thread = threading.Thread(
            target=self._answer_messages, name="discreet-session", daemon=True
        )

    async def run(self) -> None:
        """Exchange messages until the client leaves.

        Raises:
            StatementFailed: what the client sent is no message, it was idle for too long, or the server stops.
            TimeoutError: it did not read its answers, or did not complete a message.
            ClientGone: it has disconnected.
        """
        self._wire.on_input = self._take_input
        self._thread.start()
        try:
            self._take_input()
            await self._ended
        finally:
            self._wire.on_input = self._wire.on_writable = None
            self._set_timer(None, ClientGone)
            self._may_go_on.set()
            # The session is closed next, which must not happen while its thread uses it.
            while self._is_answering:
                await asyncio.sleep(0.01)
            self._inbox.put(None)

    def _end_exchange(self, error: BaseException | None) -> None:
        if not self._ended.done():
            if error is None:
                self._ended.set_result(None)
            else:
                self._ended.set_exception(error)

    def _set_timer(self, seconds: float | None, error: Callable[[], BaseException]) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            self._timer = self._loop.call_later(seconds, lambda: self._end_exchange(error()))

    # --- messages, in the event loop --------------------------------------------------------------

    def _take_input(self) -> None:
        """Pass on the messages that have arrived, unless earlier ones are being answered."""
        if self._is_answering or self._is_blocked or self._ended.done():
            return
        try:
            frames = self._wire.take_frames(limit=self._limits.max_message)
        except (StatementFailed, ClientGone) as error:
            self._end_exchange(error)
            return
        if frames:
            self._hand_over(frames)
        elif not self._wire.has_buffered:
            self._wait_for_client()
        elif not self._has_begun:
            self._has_begun = True
            self._set_timer(self._limits.message_timeout, TimeoutError)

    def _hand_over(self, frames: Sequence[Frame]) -> None:
        self._set_timer(None, ClientGone)
        self._has_begun = False
        if any(frame.kind == b"X" for frame in frames):
            # A client that terminates at once still gets its earlier statements executed.
            self._wire.on_lost = None
        self._is_answering = self.is_busy = True
        self._inbox.put((time.perf_counter(), frames))

    def _wait_for_client(self) -> None:
        """Limit how long the client may be idle."""
        conversation, limits = self._conversation, self._limits
        idle, sqlstate, where = limits.idle_timeout, "57P05", "idle-session"
        if conversation.is_in_transaction:
            own, most = conversation.session.idle_in_transaction, limits.idle_transaction_timeout
            idle = min((each for each in (own, most) if each is not None), default=None)
            sqlstate, where = "25P03", "idle-in-transaction"
        text = f"terminating connection due to {where} timeout"
        self._set_timer(idle, lambda: StatementFailed(sqlstate, text))

    # --- answers ----------------------------------------------------------------------------------

    def _answer_messages(self) -> None:
        """Answer messages, in the thread of this client."""
        while (item := self._inbox.get()) is not None:
            arrived, frames = item
            self._observe_wait(time.perf_counter() - arrived)
            try:
                self._answer_batch(frames)
            except BaseException as error:  # noqa: BLE001 - it ends this client's connection only
                if self._loop.is_closed():
                    return
                self._loop.call_soon_threadsafe(self._report_failure, error)

    def _answer_batch(self, frames: Sequence[Frame]) -> None:
        answer, is_last = self._conversation.answer(frames), False
        while not is_last:
            self.is_busy = True
            try:
                part, is_last = take_part(answer)
                self._conversation.settle()
            finally:
                self.is_busy = False
            self._may_go_on.clear()
            self._loop.call_soon_threadsafe(self._send, part, is_last)
            if not is_last:
                self._may_go_on.wait()
                if self._ended.done():
                    raise ClientGone

    # --- in the event loop again ------------------------------------------------------------------

    def _report_failure(self, error: BaseException) -> None:
        self._is_answering = False
        self._end_exchange(error)

    def _send(self, part: bytes, is_last: bool) -> None:
        self._is_answering = not is_last
        self._wire.write(part)
        if self._wire.is_writable:
            self._continue_after_write()
        else:
            self._is_blocked, self._wire.on_writable = True, self._continue_after_write
            self._set_timer(self._limits.write_timeout, TimeoutError)

    def _continue_after_write(self) -> None:
        """Have the next part of the answer made, or take the next messages."""
        if self._is_blocked:
            self._is_blocked, self._wire.on_writable = False, None
            self._set_timer(None, TimeoutError)
        if self._wire.is_closing:
            self._end_exchange(ClientGone())
        if self._is_answering:
            self._may_go_on.set()
            return
        if self._conversation.has_ended:
            self._end_exchange(None)
        self._take_input()


def take_part(answer: Iterator[bytes]) -> tuple[bytes, bool]:
    """Return the next part of a response, and whether it is the last one."""
    parts: list[bytes] = []
    size = 0
    for piece in answer:
        parts.append(piece)
        size += len(piece)
        if size >= PART:
            return b"".join(parts), False
    return b"".join(parts), True
