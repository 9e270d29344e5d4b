"""Block production of the production profile: a separate process that needs only PostgreSQL.

A thread for each chain is woken by PostgreSQL's notifications, or by its own clock if none arrives. It holds
a lock for the lifetime of its session, so a second process can stand by and take over within a tick. While no
such process runs, Celery's beat produces the blocks, one tick after the other.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Final

import psycopg
from psycopg import sql
from typing_extensions import override

from cchain_app import tasks as evm
from cchain_app.services.runtime import EvmRuntime
from chaindb.connections import release
from chaindb.postgresql.session import set_parameters
from chaindb.wakeup import Wakeup
from nodeproject.node import Node
from platform_app import tasks as platform
from primitives.ids import PRIMARY_NETWORK_ID
from primitives.networks import title
from xchain_app import tasks as xchain

TICK: Final = 1.0
"""Seconds after which a chain is checked without a notification: staking periods begin and end by the clock."""
POLL_SECONDS: Final = 1.0
"""Maximum seconds until a thread notices that the process is to end."""
RETRY: Final = 0.5
"""Seconds after which a lost session is opened again."""

_log: Final = logging.getLogger(__name__)


class ProducerLoop(threading.Thread):
    """Produces the blocks of one chain until it is stopped.

    Args:
        chain: The name of the chain.
        wakeup: The channel of the notifications that request blocks, and the lock of the producer.
        work: Builds blocks; it requests another run for blocks left over, or the next tick builds them.
        tick: Seconds between two runs without a notification.
        by_clock: Whether to run only at ticks, once each, because blocks are due at fixed times.
        stopping: Set when the thread is to end.
    """

    def __init__(
        self,
        chain: str,
        wakeup: Wakeup,
        work: Callable[[], object],
        *,
        tick: float,
        stopping: threading.Event,
        by_clock: bool = False,
    ) -> None:
        super().__init__(name=f"producer-{chain}", daemon=True)
        self._chain = chain
        self._wakeup = wakeup
        self._work = work
        self._tick = tick
        self._by_clock = by_clock
        self._stopping = stopping
        self._due = time.monotonic()
        """When the next tick is due, by the monotonic clock; lost sessions do not change it."""

    @override
    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._open() as session:
                    self._live(session)
            except psycopg.Error as error:
                # A promoted standby raises other error classes than an unavailable server.
                _log.warning("the %s's producer lost PostgreSQL: %s", title(self._chain), error)
                self._stopping.wait(RETRY)
            except Exception:  # whatever it is, the thread must keep running
                _log.exception("the %s's producer failed and restarts", title(self._chain))
                self._stopping.wait(RETRY)

    def _open(self) -> psycopg.Connection[Any]:
        """Open the session that listens and holds the lock: a connection outside of any pool."""
        parameters = self._wakeup.db.connection.get_connection_params()
        session: psycopg.Connection[Any] = psycopg.connect(**parameters, autocommit=True)
        set_parameters(session)
        session.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._wakeup.channel)))
        return session

    def _live(self, session: psycopg.Connection[Any]) -> None:
        held = False
        while not self._stopping.is_set():
            held = held or self._claim(session)
            ticked = self._take_tick()
            if held and (ticked or not self._by_clock):
                self._make()
            self._wait(session)

    def _take_tick(self) -> bool:
        """Return whether a tick is due, and set the next one; missed ticks are skipped."""
        now = time.monotonic()
        if now < self._due:
            return False
        self._due += self._tick
        if self._due <= now:
            self._due = now + self._tick
        return True

    def _wait(self, session: psycopg.Connection[Any]) -> None:
        """Wait until blocks are requested, a tick is due, or the process is to end, which is checked periodically."""
        while not self._stopping.is_set():
            left = self._due - time.monotonic()
            # All notifications received so far: one run serves all of them.
            notified = list(
                session.notifies(timeout=min(max(left, 0.0), POLL_SECONDS), stop_after=1)
            )
            if notified or left <= POLL_SECONDS:
                return

    def _claim(self, session: psycopg.Connection[Any]) -> bool:
        row = session.execute("SELECT pg_try_advisory_lock(%s)", [self._wakeup.lock_key]).fetchone()
        held = row is not None and bool(row[0])
        if held:
            _log.info("this process produces the %s's blocks", title(self._chain))
        return held

    def _make(self) -> None:
        """Build the pending blocks; if an error occurs, the next run tries again.

        Work that stops early requests the next run itself.
        """
        try:
            self._work()
        except Exception:
            _log.exception("the %s's blocks could not be produced", title(self._chain))
        finally:
            release()


class SubnetProducer(threading.Thread):
    """Produces the blocks of all chains of subnets, one chain after the other, with one session for all of them.

    Args:
        node: The node.
        stopping: Set when the thread is to end.
    """

    def __init__(self, node: Node, stopping: threading.Event) -> None:
        super().__init__(name="producer-subnets", daemon=True)
        self._node = node
        self._stopping = stopping
        self._held: dict[str, EvmRuntime] = {}
        """The chains whose blocks this process makes, by the channel of their requests."""

    @override
    def run(self) -> None:
        while not self._stopping.is_set():
            self._held = {}
            try:
                with self._open() as session:
                    while not self._stopping.is_set():
                        self._claim(session)
                        for runtime in self._wait(session):
                            self._make(runtime)
            except psycopg.Error as error:
                _log.warning("the producer of subnets' chains lost PostgreSQL: %s", error)
                self._stopping.wait(RETRY)
            except Exception:  # whatever it is, the thread must keep running
                _log.exception("the producer of subnets' chains failed and restarts")
                self._stopping.wait(RETRY)

    def _open(self) -> psycopg.Connection[Any]:
        parameters = self._node.database.connection.get_connection_params()
        session: psycopg.Connection[Any] = psycopg.connect(**parameters, autocommit=True)
        set_parameters(session)
        return session

    def _claim(self, session: psycopg.Connection[Any]) -> None:
        """Begin the chains that were created, and take over those whose producer has ended."""
        try:
            self._node.subnet_chains.look()
        finally:
            release()
        runtimes = tuple(self._node.evm_runtimes.values())
        self._held = {name: one for name, one in self._held.items() if one in runtimes}
        for runtime in runtimes:
            chain = runtime.chain
            channel = chain.producer.channel
            if chain.subnet_id == PRIMARY_NETWORK_ID or channel in self._held:
                continue
            key = [chain.producer.lock_key]
            row = session.execute("SELECT pg_try_advisory_lock(%s)", key).fetchone()
            if row is not None and row[0]:
                session.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                self._held[channel] = runtime
                _log.info("this process produces the blocks of %s", chain.title)

    def _wait(self, session: psycopg.Connection[Any]) -> Collection[EvmRuntime]:
        """Return the chains whose blocks are requested; after a second without a request all of them."""
        until = time.monotonic() + TICK
        found: dict[str, EvmRuntime] = {}
        while not found and not self._stopping.is_set() and time.monotonic() < until:
            left = max(0.0, until - time.monotonic())
            for notified in session.notifies(timeout=left, stop_after=1):
                if (runtime := self._held.get(notified.channel)) is not None:
                    found[notified.channel] = runtime
        return found.values() or tuple(self._held.values())

    def _make(self, runtime: EvmRuntime) -> None:
        try:
            evm.beat(runtime)
        except Exception:  # the next request or tick tries again, and the other chains go on
            _log.exception("the blocks of %s could not be produced", runtime.chain.title)
        finally:
            release()


def producers(node: Node, stopping: threading.Event) -> list[threading.Thread]:
    """Return the producers of all chains, not started yet; `stopping` ends them."""
    settings = node.settings
    by_clock = settings.cchain.mines_by_clock
    of_platform = ProducerLoop(
        node.platform_chain.name,
        node.platform_chain.producer,
        platform.build_blocks,
        tick=TICK,
        stopping=stopping,
    )
    of_evms = [
        ProducerLoop(
            runtime.chain.name,
            runtime.chain.producer,
            partial(evm.beat, runtime),
            tick=settings.cchain.block_interval if by_clock else TICK,
            by_clock=by_clock,
            stopping=stopping,
        )
        for runtime in tuple(node.evm_runtimes.values())
        if runtime.chain.subnet_id == PRIMARY_NETWORK_ID
    ]
    of_avm = ProducerLoop(
        node.avm_chain.name,
        node.avm_chain.producer,
        partial(xchain.beat, node.avm_runtime),
        tick=TICK,
        stopping=stopping,
    )
    return [of_platform, *of_evms, of_avm, SubnetProducer(node, stopping)]
