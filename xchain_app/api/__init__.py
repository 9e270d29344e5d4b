"""The RPC API of the X-Chain and its method tables: `avm.*`, and `wallet.issueTx`.

As in the reference, the call format requires no argument: a missing or null argument has a default, and each method checks
the arguments that it needs.
"""

from chaindb.chains import is_left_out
from jsonrpc.dispatch import values as params
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from primitives.checksummed import TextEncoding
from primitives.ids import EMPTY_ID
from xchain_app.api import assets, blocks, keystore, transactions, utxos
from xchain_app.api.rpc import AvmMethods, AvmRpc

__all__ = ["AvmRpc", "registry", "wallet_registry"]

_ENCODING = Param("encoding", params.encoding, TextEncoding.HEX)
_TX = Param("txID", params.identifier, EMPTY_ID)
_ISSUED = (Param("tx", params.text, ""), Param("encoding", params.encoding, None))
_ADDRESS = Param("address", params.text, "")
_ASSET = Param("assetID", params.text, "")
_PARTIAL = Param("includePartial", params.boolean, default=False)


def registry(rpc: AvmRpc) -> MethodRegistry:
    """Return the `avm.*` methods of a chain.

    Clients ask for the fee asset and the fees before they build transactions of any chain. A node that does not take part in
    the X-Chain answers only these questions, because it knows only the genesis.
    """
    methods = AvmMethods(rpc)
    methods.add("avm.getTxFee", assets.get_tx_fee, hot=True)
    methods.add(
        "avm.getAssetDescription",
        assets.get_asset_description,
        params=[Param("assetID", params.text, "AVAX")],
    )
    if not is_left_out(rpc.chain.name):
        _add_all(methods)
        if rpc.has_keystore:
            _add_key_methods(methods)
    return methods.registry


def _add_all(methods: AvmMethods) -> None:
    methods.add("avm.getHeight", blocks.get_height)
    methods.add(
        "avm.getBlock",
        blocks.get_block,
        params=[Param("blockID", params.identifier, EMPTY_ID), _ENCODING],
    )
    methods.add(
        "avm.getBlockByHeight",
        blocks.get_block_by_height,
        params=[Param("height", params.uint64, 0), _ENCODING],
    )
    methods.add_vectorized("avm.issueTx", transactions.issue_txs, params=_ISSUED)
    methods.add("avm.getTx", transactions.get_tx, params=[_TX, _ENCODING])
    methods.add("avm.getTxStatus", transactions.get_tx_status, params=[_TX])
    methods.add("avm.getBalance", assets.get_balance, params=[_ADDRESS, _ASSET, _PARTIAL])
    methods.add("avm.getAllBalances", assets.get_all_balances, params=[_ADDRESS, _PARTIAL])
    methods.add(
        "avm.getUTXOs",
        utxos.get_utxos,
        params=[
            Param("addresses", params.list_of(params.text, ""), ()),
            Param("sourceChain", params.text, ""),
            Param("limit", params.uint32, 0),
            Param("startIndex", params.start_index, params.StartIndex()),
            _ENCODING,
        ],
    )
    methods.add(
        "avm.getAddressTxs",
        utxos.get_address_txs,
        params=[
            _ADDRESS,
            _ASSET,
            Param("cursor", params.uint64, 0),
            Param("pageSize", params.uint64, 0),
        ],
    )


def _add_key_methods(methods: AvmMethods) -> None:
    user = (Param("username", params.text, ""), Param("password", params.text, ""))
    spending = (
        *user,
        Param("from", params.few_of("from addresses", params.text, ""), ()),
        Param("changeAddr", params.text, ""),
    )
    to, amount = Param("to", params.text, ""), Param("amount", params.uint64, 0)
    memo = Param("memo", params.text, "")
    names = (Param("name", params.text, ""), Param("symbol", params.text, ""))
    minters = Param(
        "minterSets",
        params.few_of("minter sets", keystore.minter_set, keystore.MinterSet((), 0)),
        (),
    )
    holders = Param(
        "initialHolders", params.few_of("holders", keystore.holder, keystore.Holder(0, "")), ()
    )
    outputs = Param(
        "outputs",
        params.few_of("outputs", keystore.sent_output, keystore.SentOutput("", 0, "")),
        (),
    )
    methods.add("avm.createAddress", keystore.create_address, params=user)
    methods.add("avm.listAddresses", keystore.list_addresses, params=user)
    methods.add(
        "avm.importKey",
        keystore.import_key,
        params=[*user, Param("privateKey", params.text, "")],
    )
    methods.add("avm.exportKey", keystore.export_key, params=[*user, _ADDRESS])
    methods.add("avm.send", keystore.send, params=[*spending, amount, _ASSET, to, memo])
    methods.add("avm.sendMultiple", keystore.send_multiple, params=[*spending, outputs, memo])
    for name in ("createAsset", "createFixedCapAsset", "createVariableCapAsset"):
        methods.add(
            f"avm.{name}",
            keystore.create_asset,
            params=[
                *spending, *names, Param("denomination", params.uint8, 0), holders, minters,
            ],
        )  # fmt: skip
    methods.add(
        "avm.createNFTAsset", keystore.create_nft_asset, params=[*spending, *names, minters]
    )
    methods.add("avm.mint", keystore.mint, params=[*spending, amount, _ASSET, to])
    methods.add(
        "avm.mintNFT",
        keystore.mint_nft,
        params=[*spending, _ASSET, Param("payload", params.text, ""), to, _ENCODING],
    )
    methods.add(
        "avm.sendNFT",
        keystore.send_nft,
        params=[*spending, _ASSET, Param("groupID", params.uint32, 0), to],
    )
    for name in ("import", "importAVAX"):
        methods.add(
            f"avm.{name}",
            keystore.import_coins,
            params=[*user, Param("sourceChain", params.text, ""), to],
        )
    for name, asset in (("export", ""), ("exportAVAX", "AVAX")):
        methods.add(
            f"avm.{name}",
            keystore.export_coins,
            params=[
                *spending, amount, Param("assetID", params.text, asset), to,
                Param("targetChain", params.text, ""),
            ],
        )  # fmt: skip


def wallet_registry(rpc: AvmRpc) -> MethodRegistry:
    """Return the `wallet.*` methods of a chain."""
    methods = AvmMethods(rpc)
    if not is_left_out(rpc.chain.name):
        methods.add_vectorized("wallet.issueTx", transactions.issue_wallet_txs, params=_ISSUED)
    return methods.registry
