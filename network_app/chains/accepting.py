"""Accepting others' blocks: executed by their chain and stored with what they are wrapped in.

An accepted block that somebody else made is never without its outer one: `wrapping` would take it for
one of this node's own. So both are written in one transaction.
"""

import threading
from collections.abc import Callable, Sequence

from chaindb.locks import Lock, acquire
from network_app.chains.inner import Refused
from network_app.chains.stored import wrapping_of
from network_app.chains.verifying import Trust, Verified, Verifier, invalid
from network_app.chains.wrapping import Wrapper
from network_app.ports import Accepted, BlockPlace, UnknownParent
from network_app.proposervm.verification import ParentFacts
from network_app.services import clock
from network_app.store import outer
from primitives.ids import ID


class _Overtaken(Exception):
    """This node has made one of the blocks itself meanwhile."""


class Acceptor:
    """Takes in others' blocks of one chain.

    Args:
        wrapper: Its outer blocks, and the chain inside.
        verifier: Who verifies them.
        after: Called whenever blocks were accepted.
    """

    def __init__(self, wrapper: Wrapper, verifier: Verifier, after: Callable[[], None]) -> None:
        self._wrapper = wrapper
        self._verifier = verifier
        self._after = after
        self._inner = wrapper.inner
        self._lock = threading.Lock()

    def accept(self, raws: Sequence[bytes], trust: Trust) -> Accepted:
        """Verify, execute and accept blocks in order; see `ports.Chain.accept`."""
        with self._lock:
            last = self._wrapper.last()
            run = self._verifier.run(raws, last, trust)
            accepted = self._commit(run.blocks, last)
            if run.stopped_by is not None:
                raise run.stopped_by
            return accepted

    def _commit(self, verified: Sequence[Verified], last: ParentFacts) -> Accepted:
        """Accept verified blocks together; if one is refused, those before it one by one.

        Raises:
            InvalidBlock: One is refused.
            UnknownParent: This node has made a block meanwhile.
        """
        if not verified:
            return Accepted()
        try:
            return self._commit_together(verified)
        except (Refused, _Overtaken) as error:
            if self._inner.tip().block_id != last.inner_id:
                raise UnknownParent("another block was accepted meanwhile") from error
            units = _units(verified)
            if len(units) == 1:
                raise invalid(verified[0], str(error)) from error
        done = Accepted()
        for unit in units:
            more = self._commit(unit, last)
            done = Accepted(done.places + more.places, done.transactions + more.transactions)
            last = unit[-1].facts
        return done

    def _commit_together(self, together: Sequence[Verified]) -> Accepted:
        """Accept blocks in one transaction.

        Raises:
            Refused: One breaks a rule of the chain.
            _Overtaken: The chain passes over one of them, since it has it already.
        """
        waiting = iter(together)

        def beside(block_id: ID) -> None:
            one = next(waiting)
            if one.inner.block_id != block_id:
                raise _Overtaken
            if one is together[-1]:
                self._write(together)

        transactions = self._inner.accept(
            [one.inner for one in together], now=together[-1].now, beside=beside
        )
        if next(waiting, None) is not None:
            raise _Overtaken
        self._wrapper.note(together[-1].facts)
        self._after()
        return Accepted(
            tuple(BlockPlace(one.inner.height, one.outer.outer_id) for one in together),
            transactions,
        )

    def _write(self, together: Sequence[Verified]) -> None:
        """Store the outer blocks, and let the clock follow."""
        acquire(Lock.NETWORK)
        outer.add(self._inner.alias, [wrapping_of(one.outer, one.inner.height) for one in together])
        if together[-1].leaps:
            clock.follow(together[-1].now)


def _units(verified: Sequence[Verified]) -> list[list[Verified]]:
    """Split blocks into the least that can be accepted: single ones, proposals with their options."""
    units: list[list[Verified]] = []
    for one in verified:
        if units and units[-1][-1].facts.options:
            units[-1].append(one)
        else:
            units.append([one])
    return units
