"""The API of atomic transactions: the methods `avax.*` at `/ext/bc/C/avax` (atomic.md 10).

The reference no longer has the methods that use a user's keys; older clients call them.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, update_wrapper
from typing import Any, Final, NamedTuple, Protocol

from cchain_app.atomic.builder import AtomicTxNotBuilt, Payment
from cchain_app.atomic.render import render_tx
from cchain_app.atomic.transactions import AtomicTx, parse
from cchain_app.chain import EvmChain, NoBlockchainID
from cchain_app.selectors import atomic as atomic_txs
from cchain_app.selectors.atomic import AtomicStatus
from cchain_app.selectors.blocks import NoGenesis
from cchain_app.services import atomic, atomic_wallet
from cchain_app.services.atomic import AtomicTxRefused
from jsonrpc.dispatch import values
from jsonrpc.dispatch.caller import Guard
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.dispatch.values import StartIndex, quoted, refused, shortened, too_many
from jsonrpc.errors import JsonRpcError
from primitives.addresses import AddressError, format_address, parse_address
from primitives.cb58 import Cb58Error
from primitives.checksummed import (
    EncodingError,
    EncodingReason,
    TextEncoding,
    decode,
    encode,
    encode_each,
)
from primitives.codec_errors import CodecError
from primitives.hexadecimal import HexError, checksum_address, decode_address, decode_quantity
from primitives.ids import EMPTY_ID, ID, IdError, ShortID, WrongIdLength
from primitives.keys import PrivateKeyError, format_private_key, parse_private_key
from primitives.product import VERSION
from primitives.secp256k1 import InvalidPrivateKey, address_of_private_key
from shared_app.paging import FIRST, PAGE, UtxoCursor
from utxo.errors import InvalidTx

Json = dict[str, Any]

MAX_ADDRESSES: Final = 1024
"""Maximum number of addresses in one call of avax.getUTXOs."""

ASSET: Final = "AVAX"
"""The name of the staking asset in avax.export, whatever its own name is."""

_EXPECTED: Final[tuple[type[Exception], ...]] = (
    InvalidTx,
    AtomicTxRefused,
    AtomicTxNotBuilt,
    CodecError,
    EncodingError,
    AddressError,
    Cb58Error,
    IdError,
    HexError,
    PrivateKeyError,
    InvalidPrivateKey,
    NoBlockchainID,
    NoGenesis,
)
"""Errors that callers get with their own message."""

_NO_CHECKSUM: Final = frozenset(
    {EncodingReason.MISSING_HEX_CHECKSUM, EncodingReason.WRONG_HEX_CHECKSUM}
)


class UserKeys(Protocol):
    """The node's keystore, as far as these methods use it. Its errors are JSON-RPC errors."""

    @property
    def guard(self) -> Guard:
        """Decides which callers may use it."""

    def keys_of(self, username: str, password: str) -> list[bytes]:
        """Return a user's private keys, the oldest first."""

    def import_key(self, username: str, password: str, key: bytes) -> None:
        """Add a private key of 32 bytes to a user."""


class AvaxNetwork(NamedTuple):
    """The parts of the node that these methods use besides their chain."""

    hrp: str
    """The prefix of the network's addresses."""
    find_chain_id: Callable[[str], ID | None]
    """Returns the ID of a chain of the Primary Network by its alias or ID."""
    keystore: UserKeys


class AvaxRpc:
    """The API of a chain's atomic transactions, the first argument of its handlers. Threads share it."""

    def __init__(self, chain: EvmChain, network: AvaxNetwork) -> None:
        self.chain = chain
        self.network = network

    def chain_id_of(self, alias: str) -> ID:
        """Return the ID of a chain by its alias or ID.

        Raises:
            JsonRpcError: -32000, no chain has this alias.
        """
        chain_id = self.network.find_chain_id(alias)
        if chain_id is None:
            raise refused(f"there is no ID with alias: {shortened(alias)}")
        return chain_id

    def read_address(self, text: str) -> ShortID:
        """Return an address of this chain, with or without chain and prefix.

        Raises:
            JsonRpcError: -32000, it is not an address of this chain and network.
        """
        try:
            return ShortID.parse(text)
        except (Cb58Error, WrongIdLength):
            pass  # the usual case: it starts with a chain
        parsed = parse_address(text)
        chain_id, own = self.chain_id_of(parsed.chain), self.chain.blockchain_id
        if chain_id != own:
            raise refused(f'expected chainID to be "{own}" but was "{chain_id}"')
        if parsed.hrp != self.network.hrp:
            raise refused(f'expected hrp "{self.network.hrp}" but got "{shortened(parsed.hrp)}"')
        return parsed.short_id

    def address(self, short_id: ShortID) -> str:
        """Return an address of this chain on this network."""
        return format_address(self.chain.name, self.network.hrp, short_id)


def account(value: Any) -> str:
    """Read a JSON string that names an account of this chain; the method decodes it."""
    return values.text(value)


def to_error_object(error: Exception) -> JsonRpcError | None:
    """Return the error object of an expected error (-32000), None for an unexpected one."""
    return refused(str(error)) if isinstance(error, _EXPECTED) else None


@contextmanager
def saying(words: str) -> Iterator[None]:
    """Prefix the message of every expected error raised within; other errors pass unchanged.

    Raises:
        JsonRpcError: An expected error occurred.
    """
    try:
        yield
    except Exception as error:
        known = error if isinstance(error, JsonRpcError) else to_error_object(error)
        if known is None:
            raise
        raise refused(f"{words}: {known.message}") from error


def get_utxos(  # noqa: PLR0917  # arguments come by position
    rpc: AvaxRpc,
    addresses: Sequence[str],
    source_chain: str,
    limit: int,
    start: StartIndex,
    encoding: TextEncoding,
) -> Json:
    """avax.getUTXOs: a page of the outputs that another chain has exported to addresses on this chain.

    Unspecified: a page has at most 1024 outputs, which is also the default, in the order of addresses, then of UTXO
    IDs; on a chain of coreth the newest outputs of an address come first, as in the reference. It begins after
    `startIndex`, where the reference's begins with it.
    """
    if not addresses:
        raise refused("no addresses provided")
    if len(addresses) > MAX_ADDRESSES:
        raise too_many("addresses", len(addresses), MAX_ADDRESSES)
    if not source_chain:
        raise refused("no source chain provided")
    with saying(f"problem parsing source chainID {quoted(source_chain)}"):
        source = rpc.chain_id_of(source_chain)
    owners = [_owner(rpc, text) for text in addresses]
    page = atomic_txs.importable(
        rpc.chain,
        owners,
        source=source,
        after=_cursor(rpc, start) if start.is_given else None,
        limit=limit if 0 < limit <= PAGE else PAGE,
    )
    end = page.end if page.utxos else FIRST
    with saying("problem encoding utxo"):
        utxos = encode_each(page.utxos, encoding) if page.utxos else []
    return {
        "numFetched": str(len(page.utxos)),
        "utxos": utxos,
        "endIndex": {"address": rpc.address(end.address), "utxo": str(end.utxo_id)},
        "encoding": encoding.value,
    }


def issue_tx(rpc: AvaxRpc, text: str, encoding: TextEncoding | None) -> Json:
    """avax.issueTx: add a signed atomic transaction to the pool; returns its ID.

    An acknowledged transaction is stored. A pending or accepted transaction is acknowledged again.
    """
    tx = _read_tx(text, encoding)
    atomic.issue(rpc.chain, tx)
    return {"txID": str(tx.tx_id)}


def get_atomic_tx_status(rpc: AvaxRpc, tx_id: ID) -> Json:
    """avax.getAtomicTxStatus: the status of an atomic transaction, and the height of its block if it is accepted."""
    _verify_given(tx_id)
    stored = atomic_txs.find(rpc.chain, tx_id)
    status = atomic_txs.status_of(stored)
    shown: Json = {"status": status.value}
    if stored is not None and status is AtomicStatus.ACCEPTED:
        shown["blockHeight"] = str(stored.block_number)
    return shown


def get_atomic_tx(rpc: AvaxRpc, tx_id: ID, encoding: TextEncoding) -> Json:
    """avax.getAtomicTx: the bytes of an accepted, pending or dropped atomic transaction.

    Unspecified: with encoding `json` the text is the transaction as JSON, as in older versions of the reference.
    """
    _verify_given(tx_id)
    stored = atomic_txs.find(rpc.chain, tx_id)
    if stored is None:
        raise refused(f"could not find tx {tx_id}")
    if encoding is TextEncoding.JSON:
        text = json.dumps(render_tx(parse(stored.raw)))
    else:
        text = encode(stored.raw, encoding)
    shown: Json = {"tx": text, "encoding": encoding.value}
    if stored.block_number is not None:
        shown["blockHeight"] = str(stored.block_number)
    return shown


def version(rpc: AvaxRpc) -> Json:
    """avax.version: the version of this chain's virtual machine, which is the node's."""
    del rpc
    return {"version": f"v{VERSION}"}


def import_key(rpc: AvaxRpc, username: str, password: str, private_key: str) -> Json:
    """avax.importKey: add a private key to a user; returns its account."""
    if not private_key:
        raise refused("argument 'privateKey' not given")
    key = parse_private_key(private_key)
    rpc.network.keystore.import_key(username, password, key)
    return {"address": checksum_address(address_of_private_key(key))}


def export_key(rpc: AvaxRpc, username: str, password: str, address: str) -> Json:
    """avax.exportKey: the private key of one of a user's accounts."""
    with saying("couldn't parse address"):
        wanted = decode_address(address)
    for key in rpc.network.keystore.keys_of(username, password):
        if address_of_private_key(key) == wanted:
            return {"privateKey": format_private_key(key), "privateKeyHex": "0x" + key.hex()}
    raise refused("problem retrieving private key: not found")


def import_coins(  # noqa: PLR0917  # arguments come by position
    rpc: AvaxRpc, username: str, password: str, to: str, source_chain: str, base_fee: str
) -> Json:
    """avax.import, avax.importAVAX: import all outputs that another chain exported to a user's keys, to one account."""
    with saying(f"problem parsing chainID {quoted(source_chain)}"):
        source = rpc.chain_id_of(source_chain)
    with saying("couldn't parse argument 'to' to an address"):
        recipient = decode_address(to)
    keys = rpc.network.keystore.keys_of(username, password)
    tx = atomic_wallet.import_coins(
        rpc.chain, keys, source_chain=source, to=recipient, base_fee=_base_fee(base_fee)
    )
    return {"txID": str(tx.tx_id)}


def export_coins(  # noqa: PLR0917  # arguments come by position
    rpc: AvaxRpc, username: str, password: str, amount: int, to: str, base_fee: str, asset: str
) -> Json:
    """avax.export: export an amount of the staking asset from a user's accounts to an address of another chain."""
    if not asset:
        raise refused("assetID is required")
    return _export(rpc, username, password, amount=amount, to=to, base_fee=base_fee, asset=asset)


def export_avax(  # noqa: PLR0917  # arguments come by position
    rpc: AvaxRpc, username: str, password: str, amount: int, to: str, base_fee: str
) -> Json:
    """avax.exportAVAX: export an amount of the staking asset, as avax.export does."""
    return _export(rpc, username, password, amount=amount, to=to, base_fee=base_fee, asset=ASSET)


def registry(rpc: AvaxRpc) -> MethodRegistry:
    """Return the methods `avax.*` of a chain."""
    methods = MethodRegistry(to_error_object)

    def add(name: str, handler: Callable[..., Any], *params: Param) -> None:
        guarded = any(param.name == "password" for param in params)
        guard = rpc.network.keystore.guard if guarded else None
        bound = update_wrapper(partial(handler, rpc), handler)
        methods.add(name, bound, params=params, guard=guard)

    encoding = Param("encoding", values.encoding, TextEncoding.HEX)
    tx_id = Param("txID", values.identifier, EMPTY_ID)
    user = (Param("username", values.text, ""), Param("password", values.text, ""))
    to, base_fee = Param("to", values.text, ""), Param("baseFee", values.text, "")
    amount = Param("amount", values.uint64, 0)
    source_chain = Param("sourceChain", values.text, "")
    add(
        "avax.getUTXOs",
        get_utxos,
        Param("addresses", values.list_of(values.text, ""), ()),
        source_chain,
        Param("limit", values.uint32, 0),
        Param("startIndex", values.start_index, StartIndex()),
        encoding,
    )
    add(
        "avax.issueTx",
        issue_tx,
        Param("tx", values.text, ""),
        Param("encoding", values.encoding, None),
    )
    add("avax.getAtomicTxStatus", get_atomic_tx_status, tx_id)
    add("avax.getAtomicTx", get_atomic_tx, tx_id, encoding)
    add("avax.version", version)
    add("avax.importKey", import_key, *user, Param("privateKey", values.text, ""))
    add("avax.exportKey", export_key, *user, Param("address", account, ""))
    for name in ("avax.import", "avax.importAVAX"):
        add(name, import_coins, *user, to, source_chain, base_fee)
    asset = Param("assetID", values.text, "")
    add("avax.export", export_coins, *user, amount, to, base_fee, asset)
    add("avax.exportAVAX", export_avax, *user, amount, to, base_fee)
    return methods


def _owner(rpc: AvaxRpc, text: str) -> ShortID:
    with saying(f"couldn't parse address {quoted(text)}"):
        return rpc.read_address(text)


def _cursor(rpc: AvaxRpc, start: StartIndex) -> UtxoCursor:
    with saying(f"couldn't parse start index address {quoted(start.address)}"):
        owner = rpc.read_address(start.address)
    with saying("couldn't parse start index utxo"):
        return UtxoCursor(owner, ID.parse(start.utxo))


def _read_tx(text: str, encoding: TextEncoding | None) -> AtomicTx:
    """Return the transaction in a string; without an encoding its hex may lack the checksum."""
    with saying("problem decoding transaction"):
        try:
            raw = decode(text, encoding or TextEncoding.HEX)
        except EncodingError as error:
            if error.reason not in _NO_CHECKSUM or encoding is not None:
                raise
            raw = decode(text, TextEncoding.HEXNC)
    with saying("problem parsing transaction"):
        return parse(raw)


def _verify_given(tx_id: ID) -> None:
    if tx_id == EMPTY_ID:
        raise refused("nil transaction ID")


def _base_fee(text: str) -> int | None:
    with saying("couldn't parse argument 'baseFee'"):
        return decode_quantity(text) if text else None


def _export(
    rpc: AvaxRpc, username: str, password: str, *, amount: int, to: str, base_fee: str, asset: str
) -> Json:
    if amount == 0:
        raise refused("argument 'amount' must be > 0")
    parameters = None if rpc.chain.atomic is None else rpc.chain.atomic.parameters()
    if parameters is not None and asset not in {ASSET, str(parameters.asset_id)}:
        raise refused(f"asset {quoted(asset)} cannot be exported, only {ASSET}")
    with saying(f"couldn't parse address {quoted(to)}"):
        parsed = parse_address(to)
        chain_id = rpc.chain_id_of(parsed.chain)
    keys = rpc.network.keystore.keys_of(username, password)
    payment = Payment(amount, parsed.short_id, chain_id)
    with saying("couldn't create tx"):
        tx = atomic_wallet.export_coins(rpc.chain, keys, payment, base_fee=_base_fee(base_fee))
    return {"txID": str(tx.tx_id)}
