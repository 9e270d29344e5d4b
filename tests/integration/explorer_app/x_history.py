"""An X-Chain with assets, collectibles and transfers from and to the P-Chain, for tests of pages."""

from collections.abc import Callable
from typing import NamedTuple

from nodeproject.apps import this_node
from primitives.ids import ID, P_CHAIN_ID, ShortID
from primitives.keys import EWOQ_KEY, VMRQ_KEY, address_of
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.made import export as platform_export
from utxo.components import OutputOwners
from xchain_app.services import mempool, wallet
from xchain_app.txs.base import AvmTx
from xchain_app.wallet import spending
from xchain_app.wallet.transactions import AssetNames, AssetPayment, AvmWallet

EWOQ = address_of(EWOQ_KEY)
OTHER = address_of(VMRQ_KEY)
COIN = 10**6
"""The smallest units of the coin in the node's own parameters."""


class XHistory(NamedTuple):
    """The IDs of the transactions."""

    gold: ID
    """Creates an asset of coins, with a right to mint."""
    huts: ID
    """Creates an asset of collectibles."""
    sent: ID
    minted: ID
    piece: ID
    """Mints a collectible whose payload is markup."""
    given: ID
    exported: ID
    """Exports to the P-Chain, where nobody has imported it."""
    from_p: ID
    """The P-Chain's export that `imported` imports."""
    imported: ID


def x_history(pchain: PChain) -> XHistory:
    """Make the transactions, each in a block of its own."""
    node = this_node()
    chain, runtime = node.avm_chain, node.avm_runtime
    coin = chain.stored().fee_asset_id
    minters = [OutputOwners(0, 1, (EWOQ,))]

    def own() -> AvmWallet:
        return wallet.own_wallet(chain, [EWOQ_KEY], now=pchain.now)

    def do(build: Callable[[AvmWallet], AvmTx]) -> ID:
        pchain.now += 1
        tx_id = mempool.issue_tx(chain, build(own()), now=pchain.now)
        assert runtime.consensus.produce(now=pchain.now) is not None
        return tx_id

    gold = do(
        lambda one: one.create_asset(
            AssetNames("Gold of the Alps", "GLD", 2), [(100_000, EWOQ)], minters
        )
    )
    huts = do(lambda one: one.create_collectibles(AssetNames("Huts", "HUT", 0), minters))
    sent = do(lambda one: one.send([AssetPayment(gold, 30_100, OTHER)], b"for the <b>roof</b>"))
    minted = do(lambda one: one.operate([spending.mint_coins(one.wallet, gold, 5_000, OTHER)]))
    payload = b"<img src=https://example.org/hut.png>"
    piece = do(
        lambda one: one.operate([spending.mint_collectible(one.wallet, huts, payload, EWOQ)])
    )
    given = do(lambda one: one.operate([spending.move_collectible(one.wallet, huts, 0, OTHER)]))
    exported = do(lambda one: one.export(AssetPayment(coin, 3 * COIN, EWOQ), P_CHAIN_ID))
    from_p = pchain.do(platform_export(pchain, chain.blockchain_id, 5 * COIN)).tx_id
    imported = do(
        lambda one: one.import_all(
            wallet.shared_wallet(chain, [EWOQ_KEY], P_CHAIN_ID, now=pchain.now), P_CHAIN_ID, EWOQ
        )
    )
    return XHistory(gold, huts, sent, minted, piece, given, exported, from_p, imported)


def x_address(address: ShortID) -> str:
    """Return an address of the X-Chain."""
    return this_node().avm_chain.address(address)
