"""Sources of a voter's blocks, useless messages, and the matching of votes to blocks."""

from network_app.consensus.figures import Figures
from network_app.consensus.report import Issues, Proposals
from network_app.proposervm.ports import Proposal
from network_app.snowman.engine import SnowmanEngine
from network_app.wire import p2p_pb2 as p2p
from tests.builders.chain_vm import GENESIS, TextBlock, text_block
from tests.builders.queries import STRANGERS, A, B, push
from tests.builders.voting import PEERS, QUICK, Voter, chits, until, virtually

FAR = text_block(B, "c")
ELSEWHERE = text_block(text_block(GENESIS, "nobody has it"), "nor this")


def issues(voter: Voter) -> Issues:
    return voter.runner.report().totals.issues


def put(block: TextBlock, number: int = 99) -> p2p.Put:
    return p2p.Put(request_id=number, container=block.raw)


def poll(voter: Voter) -> tuple[object, int]:
    """Return the last query: its receiver and its request number."""
    peer, asked = (voter.peers.told("pull_query") + voter.peers.told("push_query"))[-1]
    return peer, asked.request_id


def test_block_and_its_ancestors_from_a_query_count_as_pushed() -> None:
    async def case() -> None:
        async with Voter() as voter:
            await voter.hear(PEERS[0], push(B))
            await until(lambda: voter.peers.told("get"))
            _, asked = voter.peers.told("get")[-1]
            voter.hear(PEERS[0], put(A, asked.request_id))
            await until(lambda: len(voter.runner.processing()) == 2)

            found = issues(voter)
            assert found.sources["push_gossip"] == 2
            assert sum(found.sources.values()) == 2
            assert found.issuer_stake == 2 * 1000
            assert (found.useless_push_query_bytes, found.useless_put_bytes) == (0, 0)

    virtually(case())


def test_block_received_again_counts_as_useless() -> None:
    async def case() -> None:
        async with Voter() as voter:
            await voter.hear(PEERS[0], push(A))
            await voter.hear(PEERS[1], push(A, 78))
            assert issues(voter).useless_push_query_bytes == len(A.raw)
            assert sum(issues(voter).sources.values()) == 1

    virtually(case())


def test_block_from_non_validator_counts_no_stake() -> None:
    async def case() -> None:
        async with Voter() as voter:
            voter.peers.there.append(STRANGERS[0])
            voter.runner.connected(STRANGERS[0])
            await voter.hear(STRANGERS[0], push(A))
            assert issues(voter).sources["push_gossip"] == 1
            assert issues(voter).issuer_stake == 0

    virtually(case())


def test_built_block_counts_the_own_stake() -> None:
    async def case() -> None:
        async with Voter() as voter:
            voter.vm.waiting.append("own")
            voter.runner.blocks_waiting()
            await until(voter.runner.processing)
            assert issues(voter).sources["built"] == 1
            assert issues(voter).issuer_stake == 1000

    virtually(case())


def test_votes_count_for_named_block_or_ancestor() -> None:
    async def case() -> None:
        async with Voter() as voter:
            await voter.hear(PEERS[0], push(A))
            await until(lambda: voter.peers.told("pull_query"))
            asked = voter.peers.told("pull_query")[:3]
            names = (A, GENESIS, ELSEWHERE)
            for (peer, query), block in zip(asked, names, strict=True):
                voter.hear(peer, chits(block, query.request_id, GENESIS))
            await until(lambda: voter.peers.told("get"))
            (peer, _get), *_ = voter.peers.told("get")
            voter.runner.disconnected(peer)
            await until(lambda: issues(voter).ancestor_fetches["failed"] == 1)

            found = issues(voter)
            assert found.ancestor_fetches["unneeded"] >= 1
            assert found.ancestor_fetches["dropped"] >= 1
            assert found.votes == found.ancestor_fetches["unneeded"]
            assert found.vote_index == 0

    virtually(case())


def test_counts_survive_the_end_of_an_engine() -> None:
    figures: Figures[TextBlock] = Figures("P")
    for _ in range(2):
        engine: SnowmanEngine[TextBlock] = SnowmanEngine(
            None, None, None, QUICK, GENESIS, counts=figures.counts
        )  # type: ignore[arg-type]
        figures.begin(engine)
        engine.counts.votes += 3
        figures.end()

    assert figures.totals().issues.votes == 6


def test_slots_and_times_of_signed_blocks() -> None:
    before = Proposals()
    built = before.built(Proposal(PEERS[0], 2, 1_700_000_001), 1_700_000_001.5)
    accepted = built.accepted(Proposal(PEERS[1], 3, 1_700_000_010))

    assert built == Proposals(built_slot=2, skew=-0.5)
    assert accepted == Proposals(2, 3, 1_700_000_010, -0.5)
    assert accepted.accepted(Proposal()) == accepted
