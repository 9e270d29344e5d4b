"""The transactions of the benchmarks' clients, parsed by the node's rules and by other clients."""

from hashlib import sha256

import pytest

from benchmarks import texts
from benchmarks.coins import (
    COIN,
    FEE,
    HRP,
    RICH,
    Coin,
    coins_of,
    delegation,
    owner,
    read_coin,
    split,
    transfer,
)
from benchmarks.scene import FUNDER
from benchmarks.signing import CHAIN_ID, GWEI, MAX_FEE, account, contract_address, sign
from cchain_app.txs import transaction
from platform_app.config import UNIT, specification_config
from platform_app.txs.base import BaseTx
from platform_app.txs.codec import CODEC, build, parse, sign_bytes
from platform_app.txs.staking import AddPermissionlessDelegatorTx
from primitives import checksummed
from primitives.addresses import parse_address
from primitives.evm import Address
from primitives.ids import ID, NodeID, ShortID
from primitives.networks import LOCAL
from primitives.recursion import recursion_limit_restored
from primitives.secp256k1 import recover_address
from utxo.components import UTXO, OutputOwners, SignatureCredential, TransferOutput

with recursion_limit_restored():
    from eth_account import Account as EthAccount

GIVEN = Coin(bytes([1]) * 32, 2, bytes([3]) * 32, 10 * COIN)


def test_clients_have_the_network_parameters_of_the_node() -> None:
    config = specification_config(LOCAL)
    assert (config.fees.tx, UNIT, config.hrp) == (FEE, COIN, HRP)
    assert RICH.text == "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"
    assert FUNDER.text == "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"


def test_a_transfer_is_read_as_it_was_meant() -> None:
    sender, taker = owner("a"), owner("b")
    tx = transfer(GIVEN, sender, [(taker.short_id, 5 * COIN), (taker.short_id, COIN)])

    read = parse(tx.raw)
    assert isinstance(read.unsigned, BaseTx)
    assert read.tx_id == tx.tx_id
    assert build(read.unsigned, read.credentials).raw == tx.raw
    assert sum(made.output.amount for made in read.unsigned.outputs) == 10 * COIN - FEE  # type: ignore[union-attr]
    assert sorted(made.output.owners.addresses for made in read.unsigned.outputs) == sorted(  # type: ignore[union-attr]
        [(ShortID(taker.short_id),)] * 2 + [(ShortID(sender.short_id),)]
    )
    (credential,) = read.credentials
    assert isinstance(credential, SignatureCredential)
    digest = sha256(sign_bytes(read.unsigned)).digest()
    assert recover_address(digest, credential.signatures[0]) == sender.short_id


def test_outputs_are_read_as_coins() -> None:
    sender, taker = owner("a"), owner("b")
    txs = split(GIVEN, sender, [(taker.short_id, 1_000)] * 700)
    assert [len(coins_of(tx, taker)) for tx in txs] == [600, 100]
    for tx in txs:
        read = parse(tx.raw)
        assert isinstance(read.unsigned, BaseTx)
        for coin in coins_of(tx, taker):
            made = read.unsigned.outputs[coin.index]
            utxo = UTXO(read.tx_id, coin.index, made.asset_id, made.output)
            assert read_coin(CODEC.marshal(utxo)) == coin


def test_locked_output_is_not_a_coin() -> None:
    owners = OutputOwners(99, 1, (ShortID(bytes(20)),))
    utxo = UTXO(ID(bytes(32)), 0, ID(bytes(32)), TransferOutput(1, owners))
    assert read_coin(CODEC.marshal(utxo)) is None


def test_a_delegation_is_read_as_it_was_meant() -> None:
    delegator, node = owner("a"), NodeID(bytes(range(20)))
    tx = delegation(GIVEN, delegator, bytes(node), 1_000, 2_000)

    read = parse(tx.raw).unsigned
    assert isinstance(read, AddPermissionlessDelegatorTx)
    validator = read.validator
    assert (validator.node_id, validator.start, validator.end) == (node, 1_000, 2_000)
    assert validator.weight == GIVEN.amount
    assert read.rewards_owner == OutputOwners(0, 1, (ShortID(delegator.short_id),))


@pytest.mark.parametrize("data", [bytes(20), bytes(range(20)), b"\xff" * 20])
def test_texts_are_those_of_the_node(data: bytes) -> None:
    assert parse_address(texts.address(HRP, data)) == ("P", HRP, ShortID(data))
    assert texts.cb58(data) == str(ShortID(data))
    assert texts.uncb58(str(ShortID(data)), 20) == data
    assert texts.hexed(data) == checksummed.encode(data)
    assert texts.unhexed(checksummed.encode(data)) == data


@pytest.mark.parametrize("to", [None, bytes(range(20))])
def test_transactions_of_the_c_chain_are_those_of_another_client(to: bytes | None) -> None:
    sender = account("some")
    theirs = EthAccount.sign_transaction(
        {
            "type": 2,
            "chainId": CHAIN_ID,
            "nonce": 7,
            "maxPriorityFeePerGas": GWEI,
            "maxFeePerGas": MAX_FEE,
            "gas": 50_000,
            "value": 12,
            "data": b"\x00\x01",
            **({} if to is None else {"to": to}),
        },
        sender.key.secret,
    )
    raw = sign(sender, 7, to, value=12, data=b"\x00\x01", gas=50_000)
    assert raw == "0x" + theirs.raw_transaction.hex().removeprefix("0x")
    assert contract_address(sender.address, 3) == transaction.contract_address(
        Address(sender.address), 3
    )
