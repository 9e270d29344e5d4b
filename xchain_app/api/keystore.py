"""Methods that act with keys of the node's keystore: keys, transfers, assets, operations (xchain.md 16).

Every user of the keystore has the same keys on all chains. The keystore decides which web pages may call these
methods, and checks passwords.
"""

from collections.abc import Sequence
from secrets import token_bytes
from typing import Any, NamedTuple

from chaindb import clock
from jsonrpc.dispatch.values import quoted, refused, text, uint32, uint64
from jsonrpc.errors import InvalidParam
from primitives.addresses import parse_address
from primitives.checksummed import TextEncoding, decode
from primitives.ids import ID, ShortID
from primitives.keys import address_of, format_private_key, parse_private_key
from primitives.secp256k1 import InvalidPrivateKey, verify_private_key
from utxo.components import OutputOwners
from xchain_app.api.assets import asset_id_of
from xchain_app.api.rpc import ERRORS, AvmRpc, Json
from xchain_app.services import mempool, wallet
from xchain_app.txs.base import AvmTx
from xchain_app.wallet import spending
from xchain_app.wallet.errors import AvmWalletError, AvmWalletReason
from xchain_app.wallet.transactions import AssetNames, AssetPayment, AvmWallet


class Holder(NamedTuple):
    """An amount of a new asset for an address, as the caller wrote it."""

    amount: int
    address: str


class MinterSet(NamedTuple):
    """The owners of a right to mint, as the caller wrote them."""

    minters: tuple[str, ...]
    threshold: int


class SentOutput(NamedTuple):
    """An output of sendMultiple, as the caller wrote it."""

    asset: str
    amount: int
    to: str


def holder(value: Any) -> Holder:
    """Read an object with an amount and an address."""
    given = _members(value)
    return Holder(uint64(given.get("amount", 0)), text(given.get("address", "")))


def minter_set(value: Any) -> MinterSet:
    """Read an object with minters and a threshold."""
    given = _members(value)
    minters = given.get("minters", [])
    if not isinstance(minters, list):
        raise InvalidParam("not an array")
    return MinterSet(tuple(map(text, minters)), uint32(given.get("threshold", 0)))


def sent_output(value: Any) -> SentOutput:
    """Read an object with an asset, an amount and an address."""
    given = _members(value)
    return SentOutput(
        text(given.get("assetid", "")), uint64(given.get("amount", 0)), text(given.get("to", ""))
    )


def _members(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidParam("not an object")
    return {name.lower(): part for name, part in value.items() if part is not None}


def create_address(rpc: AvmRpc, username: str, password: str) -> Json:
    """avm.createAddress: create a key for a user; returns its address."""
    while True:
        key = token_bytes(32)
        try:
            verify_private_key(key)
            break
        except InvalidPrivateKey:
            continue
    rpc.keystore.import_key(username, password, key)
    return {"address": rpc.chain.address(address_of(key))}


def list_addresses(rpc: AvmRpc, username: str, password: str) -> Json:
    """avm.listAddresses: the addresses of a user's keys, the oldest first."""
    keys = rpc.keystore.keys_of(username, password)
    return {"addresses": [rpc.chain.address(address_of(key)) for key in keys]}


def import_key(rpc: AvmRpc, username: str, password: str, private_key: str) -> Json:
    """avm.importKey: add a private key to a user; returns its address."""
    if not private_key:
        raise refused("argument 'privateKey' not given")
    key = parse_private_key(private_key)
    rpc.keystore.import_key(username, password, key)
    return {"address": rpc.chain.address(address_of(key))}


def export_key(rpc: AvmRpc, username: str, password: str, address: str) -> Json:
    """avm.exportKey: the private key of an address of a user."""
    with ERRORS.saying(f"problem parsing address {quoted(address)}"):
        wanted: ShortID = rpc.read_address(address)
    for key in rpc.keystore.keys_of(username, password):
        if address_of(key) == wanted:
            return {"privateKey": format_private_key(key)}
    raise refused("problem retrieving private key: not found")


def send(  # noqa: PLR0917  # arguments come by position
    rpc: AvmRpc,
    username: str,
    password: str,
    senders: Sequence[str],
    change: str,
    amount: int,
    asset: str,
    to: str,
    memo: str,
) -> Json:
    """avm.send: pay an amount of an asset to an address."""
    outputs = [SentOutput(asset, amount, to)]
    return send_multiple(rpc, username, password, senders, change, outputs, memo)


def send_multiple(  # noqa: PLR0917  # arguments come by position
    rpc: AvmRpc,
    username: str,
    password: str,
    senders: Sequence[str],
    change: str,
    outputs: Sequence[SentOutput],
    memo: str,
) -> Json:
    """avm.sendMultiple: pay several amounts of assets to addresses, in one transaction."""
    payments = []
    for output in outputs:
        if not output.amount:
            raise AvmWalletError(AvmWalletReason.ZERO_AMOUNT)
        payments.append(
            AssetPayment(asset_id_of(rpc, output.asset), output.amount, _to(rpc, output.to))
        )
    own = _wallet(rpc, username, password, senders, change)
    return _issue(rpc, own, own.send(payments, memo.encode("utf-8", "surrogateescape")))


def create_asset(  # noqa: PLR0917  # arguments come by position
    rpc: AvmRpc,
    username: str,
    password: str,
    senders: Sequence[str],
    change: str,
    name: str,
    symbol: str,
    denomination: int,
    holders: Sequence[Holder],
    minters: Sequence[MinterSet],
) -> Json:
    """avm.createAsset, createFixedCapAsset, createVariableCapAsset: create an asset of coins."""
    held = [(share.amount, _to(rpc, share.address)) for share in holders]
    owners = [_owners(rpc, minting) for minting in minters]
    own = _wallet(rpc, username, password, senders, change)
    tx = own.create_asset(AssetNames(name, symbol, denomination), held, owners)
    return _issue(rpc, own, tx, name="assetID")


def create_nft_asset(  # noqa: PLR0917  # arguments come by position
    rpc: AvmRpc,
    username: str,
    password: str,
    senders: Sequence[str],
    change: str,
    name: str,
    symbol: str,
    minters: Sequence[MinterSet],
) -> Json:
    """avm.createNFTAsset: create an asset of collectibles; the i-th minters mint group i."""
    owners = [_owners(rpc, minting) for minting in minters]
    own = _wallet(rpc, username, password, senders, change)
    tx = own.create_collectibles(AssetNames(name, symbol, 0), owners)
    return _issue(rpc, own, tx, name="assetID")


def mint(  # noqa: PLR0917  # arguments come by position
    rpc: AvmRpc,
    username: str,
    password: str,
    senders: Sequence[str],
    change: str,
    amount: int,
    asset: str,
    to: str,
) -> Json:
    """avm.mint: mint coins of an asset; `from` pays the fee, and any key of the user may have the right to mint."""
    if not amount:
        raise AvmWalletError(AvmWalletReason.ZERO_MINTED)
    asset_id, owner = asset_id_of(rpc, asset), _to(rpc, to)
    own, every = _wallets(rpc, username, password, senders, change)
    minting = spending.mint_coins(every.wallet, asset_id, amount, owner)
    return _issue(rpc, own, own.operate([minting], keychain=every.wallet.keychain))


def mint_nft(  # noqa: PLR0917  # arguments come by position
    rpc: AvmRpc,
    username: str,
    password: str,
    senders: Sequence[str],
    change: str,
    asset: str,
    payload: str,
    to: str,
    encoding: TextEncoding,
) -> Json:
    """avm.mintNFT: mint a collectible with the first right that the user's keys can use, whatever its group."""
    asset_id, owner = asset_id_of(rpc, asset), _to(rpc, to)
    with ERRORS.saying("problem decoding payload bytes"):
        content: bytes = decode(payload, encoding)
    own, every = _wallets(rpc, username, password, senders, change)
    minting = spending.mint_collectible(every.wallet, asset_id, content, owner)
    return _issue(rpc, own, own.operate([minting], keychain=every.wallet.keychain))


def send_nft(  # noqa: PLR0917  # arguments come by position
    rpc: AvmRpc,
    username: str,
    password: str,
    senders: Sequence[str],
    change: str,
    asset: str,
    group_id: int,
    to: str,
) -> Json:
    """avm.sendNFT: give the first collectible of a group to an address."""
    asset_id, owner = asset_id_of(rpc, asset), _to(rpc, to)
    own = _wallet(rpc, username, password, senders, change)
    moving = spending.move_collectible(own.wallet, asset_id, group_id, owner)
    return _issue(rpc, own, own.operate([moving]))


def import_coins(rpc: AvmRpc, username: str, password: str, source_chain: str, to: str) -> Json:
    """avm.import, importAVAX: import all coins that another chain has exported to the user's keys; returns the ID."""
    with ERRORS.saying(f"problem parsing chainID {quoted(source_chain)}"):
        source: ID = rpc.chain_id_of(source_chain)
    owner = _to(rpc, to)
    keys = rpc.keystore.keys_of(username, password)
    now = clock.now()
    own = wallet.own_wallet(rpc.chain, keys, change=owner, now=now)
    shared = wallet.shared_wallet(rpc.chain, keys, source, now=now)
    return {"txID": _issue(rpc, own, own.import_all(shared, source, owner))["txID"]}


def export_coins(  # noqa: PLR0917  # arguments come by position
    rpc: AvmRpc,
    username: str,
    password: str,
    senders: Sequence[str],
    change: str,
    amount: int,
    asset: str,
    to: str,
    target_chain: str,
) -> Json:
    """avm.export, exportAVAX: export an amount of an asset to an address of another chain."""
    asset_id = asset_id_of(rpc, asset)
    with ERRORS.saying(f"problem parsing to address {quoted(to)}"):
        if target_chain:
            destination, owner = rpc.chain_id_of(target_chain), ShortID.parse(to)
        else:
            parsed = parse_address(to)
            destination, owner = rpc.chain_id_of(parsed.chain), parsed.short_id
    own = _wallet(rpc, username, password, senders, change)
    return _issue(rpc, own, own.export(AssetPayment(asset_id, amount, owner), destination))


def _wallet(
    rpc: AvmRpc, username: str, password: str, senders: Sequence[str], change: str
) -> AvmWallet:
    return _wallets(rpc, username, password, senders, change)[0]


def _wallets(
    rpc: AvmRpc, username: str, password: str, senders: Sequence[str], change: str
) -> tuple[AvmWallet, AvmWallet]:
    """Return the wallet of the senders, and that of all keys of the user."""
    given = {_sender(rpc, sender) for sender in senders}
    with ERRORS.saying("couldn't parse changeAddr"):
        to: ShortID | None = rpc.read_address(change) if change else None
    keys, now = rpc.keystore.keys_of(username, password), clock.now()
    every = wallet.own_wallet(rpc.chain, keys, change=to, now=now)
    if not given:
        return every, every
    return wallet.own_wallet(rpc.chain, keys, senders=given, change=to, now=now), every


def _sender(rpc: AvmRpc, given: str) -> ShortID:
    with ERRORS.saying(f"couldn't parse 'From' address {quoted(given)}"):
        short_id: ShortID = rpc.read_address(given)
    return short_id


def _to(rpc: AvmRpc, given: str) -> ShortID:
    with ERRORS.saying(f"problem parsing to address {quoted(given)}"):
        short_id: ShortID = rpc.read_address(given)
    return short_id


def _owners(rpc: AvmRpc, given: MinterSet) -> OutputOwners:
    minters = tuple(sorted({_to(rpc, address) for address in given.minters}))
    return OutputOwners(0, given.threshold, minters)


def _issue(rpc: AvmRpc, own: AvmWallet, tx: AvmTx, name: str = "txID") -> Json:
    with ERRORS.saying("problem issuing transaction"):
        tx_id: ID = mempool.issue_tx(rpc.chain, tx, now=clock.now())
    return {name: str(tx_id), "changeAddr": rpc.chain.address(own.wallet.change_address)}
