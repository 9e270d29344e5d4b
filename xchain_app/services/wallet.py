"""The UTXOs of keys of the node's keystore, for the wallet, and the submission of its transactions."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from primitives.ids import ID, ShortID
from shared_app.paging import PAGE, UtxoCursor
from utxo.coins import Keychain, Wallet
from utxo.components import UTXO
from xchain_app.chain import AvmChain
from xchain_app.selectors import outputs
from xchain_app.txs.codec import CODEC
from xchain_app.wallet.errors import AvmWalletError, AvmWalletReason
from xchain_app.wallet.transactions import AvmWallet

MAX_PAGES: Final = 16
"""Maximum number of pages of UTXOs that the wallet reads for one transaction."""


def own_wallet(
    chain: AvmChain,
    keys: Sequence[bytes],
    *,
    senders: Collection[ShortID] = (),
    change: ShortID | None = None,
    now: int,
) -> AvmWallet:
    """Return a wallet with the outputs of keys on this chain.

    Args:
        chain: The chain.
        keys: Private keys of 32 bytes, the oldest first.
        senders: Owners of the outputs to spend; none: all addresses of the keys.
        change: The address that gets the change; None: the address of the first key that is used.
        now: Unix seconds.

    Raises:
        AvmWalletError: None of the keys belongs to the senders.
        NoXChain: The database holds no chain.
    """
    keychain = Keychain.of(keys)
    used = {
        address: key for address, key in keychain.keys.items() if not senders or address in senders
    }
    if not used:
        raise AvmWalletError(AvmWalletReason.NO_KEYS)
    addresses = tuple(used)
    wallet = Wallet(
        keychain=Keychain(used),
        utxos=list(_utxos(chain, addresses)),
        change_address=change or addresses[0],
        now=max(now, chain.tip().timestamp),
    )
    return AvmWallet(chain.env(chain.stored()), wallet)


def shared_wallet(chain: AvmChain, keys: Sequence[bytes], source: ID, *, now: int) -> Wallet:
    """Return the keys with the outputs that another chain exported to them: the first page."""
    keychain = Keychain.of(keys)
    page = outputs.utxos_of(chain, keychain.addresses, source_chain=source)
    return Wallet(
        keychain=keychain,
        utxos=[CODEC.unmarshal(UTXO, raw) for raw in page.utxos],
        change_address=keychain.addresses[0],
        now=max(now, chain.tip().timestamp),
    )


def _utxos(chain: AvmChain, addresses: Sequence[ShortID]) -> Iterator[UTXO]:
    after: UtxoCursor | None = None
    for _ in range(MAX_PAGES):
        page = outputs.utxos_of(chain, addresses, after=after)
        yield from (CODEC.unmarshal(UTXO, raw) for raw in page.utxos)
        if len(page.utxos) < PAGE:
            return
        after = page.end
