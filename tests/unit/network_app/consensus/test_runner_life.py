"""Start, end and restart of a chain's runner, and its reports; time is virtual."""

import asyncio
import logging
from typing import Any

import pytest

from tests.builders.chain_vm import GENESIS
from tests.builders.queries import A, B, answers, nothing_processing, pull, push
from tests.builders.voting import PEERS, SlotVM, Voter, chits, until, virtually


def test_engine_restarts_after_a_failed_commit(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with Voter() as voter:
            voter.vm.fails = True
            await voter.hear(PEERS[0], push(A))
            seen = 0
            while voter.runner.report().is_running:
                seen = voter.answer_all(A, GENESIS, seen)
                await asyncio.sleep(0.01)
            assert voter.runner.report().processing == ()
            # Its next answers describe the stored state, without the failed decision.
            await until(lambda: voter.runner.report().is_running)
            await voter.hear(PEERS[0], pull(B, 2))
            assert answers(voter, 2) == [nothing_processing()]
            voter.vm.fails = False
            await voter.hear(PEERS[0], push(A, 3))
            await voter.accept(A, GENESIS)
            report = voter.runner.report()
            assert report.last_accepted == A.block_id
            assert report.totals.restarts == 1
            assert report.totals.accepted.blocks == 1

    virtually(run())
    assert any(record.exc_info for record in caplog.records)


def test_decision_is_not_announced_before_commit() -> None:
    async def run() -> None:
        vm = SlotVM()
        async with Voter(vm) as voter:
            await voter.hear(PEERS[0], push(A))
            asked = []
            accept = vm.accept

            def slowly(*args: Any, **more: Any) -> None:
                asked.append(voter.hear(PEERS[1], pull(A, 2)))
                assert answers(voter, 2) == []
                accept(*args, **more)

            vm.accept = slowly  # type: ignore[method-assign]
            vm.slowness = 0.05
            await voter.accept(A, GENESIS)
            await asyncio.gather(*asked)
            assert answers(voter, 2) == [nothing_processing(A)]

    virtually(run())


def test_answers_to_an_ended_engine_are_ignored() -> None:
    async def run() -> None:
        async with Voter() as voter:
            await until(lambda: voter.peers.told("pull_query"))
            seen = len(voter.peers.sent)
            voter.vm.fails = True
            await voter.hear(PEERS[0], push(A))
            while voter.runner.report().is_running:
                seen = voter.answer_all(A, GENESIS, seen)
                await asyncio.sleep(0.01)
            await until(lambda: voter.runner.report().is_running)
            voter.peers.sent = [
                (one, message)
                for one, message in voter.peers.sent
                if (one, message.pull_query.request_id) in voter.requests._open
            ]
            assert voter.peers.sent  # requests of the first engine that are still unanswered
            await asyncio.gather(
                *(
                    voter.hear(one, chits(A, message.pull_query.request_id))
                    for one, message in voter.peers.sent
                )
            )
            await asyncio.sleep(0.05)
            engine = voter.runner._engine
            assert engine is not None
            assert not engine._accepted_frontiers
            assert voter.runner.report().tables.requests == 0

    virtually(run())


def test_end_of_an_engine_releases_its_waiters() -> None:
    async def run() -> None:
        voter = Voter()
        async with voter:
            await voter.runner.lock.acquire()
            waiting = [voter.hear(PEERS[0], push(A, number)) for number in range(100, 103)]
            await asyncio.sleep(1.0)
            assert not any(pending.done() for pending in waiting)
        await asyncio.gather(*waiting)
        voter.runner.lock.release()
        async with voter:
            await asyncio.sleep(1.0)
            assert voter.vm.verified == []
            assert answers(voter, 100) == []
            # The second engine ticks and builds like the first.
            asked = len(voter.peers.told("pull_query"))
            await until(lambda: len(voter.peers.told("pull_query")) > asked + 5)
            voter.vm.waiting.append("a")
            voter.runner.blocks_waiting()
            await until(lambda: voter.vm.verified)

    virtually(run())


def test_disconnected_peer_is_not_waited_for() -> None:
    async def run() -> None:
        async with Voter() as voter:
            await voter.hear(PEERS[0], push(A))
            voter.peers.sent.clear()
            await until(lambda: voter.peers.told("pull_query"))
            (gone, _) = voter.peers.told("pull_query")[0]
            voter.peers.there.remove(gone)
            voter.runner.disconnected(gone)
            assert not [one for one, _ in voter.requests._open if one == gone]
            assert gone in voter.runner.report().stake.absent

    virtually(run())


def test_engine_pauses_while_the_lock_is_held() -> None:
    async def run() -> None:
        async with Voter() as voter:
            async with voter.runner.lock:
                asked = voter.hear(PEERS[0], push(A, 2))
                await asyncio.sleep(1.0)
                assert not asked.done()
                assert answers(voter, 2) == []
                assert voter.vm.verified == []
            await asked
            assert voter.vm.verified == [A.block_id]

    virtually(run())


def test_missing_stake_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def run() -> None:
        async with Voter() as voter:
            for item in PEERS[:3]:
                voter.runner.disconnected(item)
            await asyncio.sleep(2.0)
            assert voter.runner.report().obstacle == "hears 40 % of the stake, needs 80 %"
            await voter.hear(PEERS[3], push(A))
            queries = len(voter.peers.told("pull_query"))
            await asyncio.sleep(5.0)
            assert len(voter.peers.told("pull_query")) == queries  # it sends no useless queries
            for peer in PEERS[:2]:
                voter.runner.connected(peer)
            await asyncio.sleep(2.0)
            assert voter.runner.report().obstacle is None

    virtually(run())
    said = [record.getMessage() for record in caplog.records if "hears" in record.getMessage()]
    assert said == [
        "P-Chain: hears 40 % of the stake, needs 80 %",
        "P-Chain: hears enough of the stake again",
    ]


def test_former_validator_has_no_vote() -> None:
    async def run() -> None:
        async with Voter() as voter:
            await until(lambda: voter.peers.told("pull_query"))
            voter.answer_all(GENESIS, GENESIS)
            await asyncio.sleep(0.5)
            engine = voter.runner._engine
            assert engine is not None
            known = dict(engine._accepted_frontiers)
            assert known
            for item in known:
                del voter.peers.facts[item]
            await asyncio.sleep(1.1)
            assert not engine._accepted_frontiers

    virtually(run())
