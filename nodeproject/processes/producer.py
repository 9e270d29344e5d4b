"""Makes blocks in the production profile: a process of its own that needs PostgreSQL and nothing else.

A thread for each chain is woken by PostgreSQL's notifications, and by its own clock when none comes. It
holds a lock as long as its session lives, so a second process stands by and takes over within a tick. While
no such process lives, Celery's beat makes the blocks, one tick after the other.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import psycopg
from django.db import connection as database
from psycopg import sql
from typing_extensions import override

from cchain_app import tasks as cchain
from chaindb.chains import Chain
from chaindb.connections import release
from chaindb.postgresql.session import set_parameters
from chaindb.wakeup import Wakeup
from nodeproject.node import Node
from platform_app import tasks as platform

TICK: Final = 1.0
"""Seconds after which a chain is looked at without having been woken: stakers begin and end by the clock."""
LOOK: Final = 1.0
"""Seconds after which it is seen that the process is to end."""
RETRY: Final = 0.5
"""Seconds after which a session that was lost is opened again."""

_log: Final = logging.getLogger(__name__)


class Producer(threading.Thread):
    """Makes the blocks of one chain until it is told to stop.

    Args:
        chain: whose blocks.
        wakeup: who asks for them.
        work: makes blocks; what it leaves for later it asks for, or a tick brings it.
        tick: seconds between two runs when nobody asks.
        by_clock: whether to run at ticks only, once each: blocks have their times, whatever is lost between.
        stopping: set when the thread is to end.
    """

    def __init__(
        self,
        chain: Chain,
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
        """When the next tick is, by the monotonic clock; sessions that are lost change nothing of it."""

    @override
    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._open() as session:
                    self._live(session)
            except psycopg.Error as error:
                # A standby that is promoted refuses with other classes than a server that is away.
                _log.warning("the %s-Chain's producer lost PostgreSQL: %s", self._chain, error)
                self._stopping.wait(RETRY)
            except Exception:  # whatever it is: the process lives, so its thread has to
                _log.exception("the %s-Chain's producer begins anew", self._chain)
                self._stopping.wait(RETRY)

    def _open(self) -> psycopg.Connection[Any]:
        """Open the session that listens and holds the lock: one of its own, which no pool takes back."""
        parameters = database.get_connection_params()
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
        """Say whether a tick is due, and set the next one; those that were missed are not made up for."""
        now = time.monotonic()
        if now < self._due:
            return False
        self._due += self._tick
        if self._due <= now:
            self._due = now + self._tick
        return True

    def _wait(self, session: psycopg.Connection[Any]) -> None:
        """Wait until somebody asks for blocks, the next tick, or the end, which is looked at now and then."""
        while not self._stopping.is_set():
            left = self._due - time.monotonic()
            # All that have come by now: one run is enough for what they ask for.
            asked = list(session.notifies(timeout=min(max(left, 0.0), LOOK), stop_after=1))
            if asked or left <= LOOK:
                return

    def _claim(self, session: psycopg.Connection[Any]) -> bool:
        row = session.execute(
            "SELECT pg_try_advisory_lock(%s)", [int(self._wakeup.lock)]
        ).fetchone()
        held = row is not None and bool(row[0])
        if held:
            _log.info("this process makes the %s-Chain's blocks", self._chain)
        return held

    def _make(self) -> None:
        """Make what there is to make; whatever goes wrong, the next run has another try.

        Work that stops before all is made asks for the next run itself.
        """
        try:
            self._work()
        except Exception:
            _log.exception("the %s-Chain's blocks could not be made", self._chain)
        finally:
            release()


def producers(node: Node, stopping: threading.Event) -> list[Producer]:
    """Return the makers of both chains' blocks, not started yet; they stop when told so."""
    settings = node.settings
    by_clock = settings.mining == "interval"
    return [
        Producer(
            Chain.P,
            node.platform_chain.producer,
            platform.build_blocks,
            tick=TICK,
            stopping=stopping,
        ),
        Producer(
            Chain.C,
            node.evm_chain.producer,
            cchain.beat,
            tick=settings.block_interval if by_clock else TICK,
            by_clock=by_clock,
            stopping=stopping,
        ),
    ]
