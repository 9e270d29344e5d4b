"""A chain is an object: two in one process share nothing, and each queries only its own database."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.utils.connection import ConnectionDoesNotExist

from chaindb.database import Database
from nodeproject.apps import this_node
from platform_app.api import PlatformRpc, registry
from platform_app.apps import platform_chain, use
from platform_app.chain import PlatformChain
from platform_app.selectors import (
    accepted,
    coins,
    figures,
    mempool,
    outputs,
    own_stake,
    stakers,
    subnets,
)
from platform_app.services import clearing, keystore, uptime
from platform_app.services import mempool as issuing
from platform_app.services.runtime import PlatformRuntime
from platform_app.store import uptime as uptime_rows
from primitives.ids import EMPTY_ID, EMPTY_NODE_ID, PRIMARY_NETWORK_ID, ShortID
from tests.builders import platform
from tests.builders.node_settings import updated
from tests.builders.process import restart_node

ADDRESS = ShortID(bytes(20))

Question = Callable[[PlatformChain], object]

QUESTIONS: dict[str, Question] = {
    "tip": lambda chain: chain.tip(),
    "network": lambda chain: chain.network(),
    "state": lambda chain: chain.state(),
    "stakers_version": lambda chain: chain.stakers_version(),
    "genesis_bytes": accepted.genesis_bytes,
    "first_validator": accepted.first_validator,
    "block": lambda chain: accepted.block(chain, EMPTY_ID),
    "block_at": lambda chain: accepted.block_at(chain, 1),
    "height_at": lambda chain: accepted.height_at(chain, 1),
    "tx": lambda chain: accepted.tx(chain, EMPTY_ID),
    "status": lambda chain: accepted.status(chain, EMPTY_ID),
    "supply": lambda chain: accepted.supply(chain, PRIMARY_NETWORK_ID),
    "coins_of": lambda chain: coins.coins_of(chain, [ADDRESS]),
    "largest_free_coins": lambda chain: coins.largest_free_coins(
        chain, ADDRESS, asset_id=EMPTY_ID, now=1, most=1
    ),
    "due": lambda chain: mempool.due(chain, 1),
    "recent": lambda chain: figures.recent(chain, 1),
    "pending": figures.pending,
    "waiting": mempool.waiting,
    "utxos_of": lambda chain: outputs.utxos_of(chain, [ADDRESS]),
    "balance": lambda chain: outputs.balance(chain, [ADDRESS], now=1),
    "stake_of": lambda chain: outputs.stake_of(chain, [ADDRESS]),
    "reward_utxos": lambda chain: outputs.reward_utxos(chain, EMPTY_ID),
    "is_validator": lambda chain: own_stake.is_validator(chain, EMPTY_NODE_ID),
    "last_terms": lambda chain: own_stake.last_terms(chain, EMPTY_NODE_ID),
    "raw_blocks": lambda chain: accepted.raw_blocks(chain, 0, 1, 1),
    "current_validators": stakers.current_validators,
    "pending_stakers": stakers.pending_stakers,
    "validators_at": lambda chain: stakers.validators_at(chain, 1),
    "uptimes": stakers.uptimes,
    "subnets": subnets.subnets,
    "blockchains": subnets.blockchains,
    "newest": lambda chain: mempool.newest(chain, 1),
    "raws": lambda chain: mempool.raws(chain, [EMPTY_ID]),
    "connected": lambda chain: uptime_rows.connected(chain.db),
    "tracking": uptime.tracking,
    "produce": lambda chain: PlatformRuntime(chain).consensus.produce(now=1),
    "drop_stale": lambda chain: clearing.drop_stale(chain, now=1),
    "last_accepted": lambda chain: PlatformRuntime(chain).vm.last_accepted(),
    "issue": lambda chain: issuing.issue(chain, [platform.signed()], now=1),
    "list_users": keystore.list_users,
    "list_addresses": lambda chain: keystore.list_addresses(chain, "anna", "password"),
}


def other(**changes: Any) -> PlatformChain:
    """Return a chain whose database does not exist."""
    node = updated(settings.NODE, **changes)
    return PlatformChain(node.common, node.platform, Database("nowhere"), this_node().identity)


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_chain_queries_only_its_database(ask: Question) -> None:
    """A query of the default database fails too, but with another error: this test has no database."""
    with pytest.raises(ConnectionDoesNotExist) as refused:
        ask(other())

    assert str(refused.value) == "The connection 'nowhere' doesn't exist."


def test_two_chains_share_nothing() -> None:
    one, another = other(), other(parameters="avalanchego", network_id=5, rpc_threads=4)

    assert (one.config.network_id, another.config.network_id) == (
        settings.NODE.common.network_id,
        5,
    )
    assert (one.answers_as_reference, another.answers_as_reference) == (False, True)
    assert another.key_derivation.users.slots < one.key_derivation.users.slots
    assert platform_chain().cache_key("key") == "key"
    assert one.cache_key("key") == "nowhere-key"
    for name in ("stakers", "key_derivation", "recheck", "producer", "vm_lock"):
        assert getattr(one, name) is not getattr(another, name)


def test_endpoints_of_two_chains_are_independent() -> None:
    fees = []
    for chain in (other(), other(parameters="avalanchego")):
        handler = registry(PlatformRpc(chain)).methods["platform.getMinStake"].handler
        assert handler is not None
        fees.append(handler(PRIMARY_NETWORK_ID)["minValidatorStake"])  # type: ignore[index]

    assert fees[0] != fees[1]


def test_process_keeps_its_chain_until_another_is_set() -> None:
    own, given = platform_chain(), other()
    assert own is this_node().platform_chain

    use(lambda: PlatformRuntime(given))
    assert platform_chain() is given

    restart_node()
    assert platform_chain() not in (own, given)
    assert platform_chain() is this_node().platform_chain
    assert platform_chain().node is settings.NODE.common
