"""Both chains with the content that the examples of the API reference request, and the names of that content.

A node's keys, and with them the IDs of most things, differ from one run to the next. So an example recorded on one
node is replayed on another one with the names replaced by those of that node.
"""

import json
from typing import Any

from network_app.apps import node_network
from nodeproject.apps import this_node
from platform_app.config import DAY, UNIT
from platform_app.selectors import accepted
from platform_app.txs.base import BaseTx, Tx
from primitives.addresses import format_address
from primitives.checksummed import encode
from primitives.ids import NodeID
from primitives.keys import EWOQ_KEY, VMRQ_KEY, address_of, format_private_key
from tests.builders import bytecode
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.conftest import Chain
from tests.integration.platform_app.conftest import PChain, asking

ALICE = {"username": "alice", "password": "a long and varied passphrase 7"}
FUNDED = format_address("P", "local", address_of(EWOQ_KEY))
OTHER = format_address("P", "local", address_of(VMRQ_KEY))
STAKER = NodeID(b"n" * 20)

Names = dict[str, str]


def hexed(data: bytes) -> str:
    """Return bytes as 0x-prefixed hex."""
    return "0x" + data.hex()


def make_world(pchain: PChain, chain: Chain) -> Names:
    """Create on both chains all content that the examples request; return its names by kind."""
    return {**_make_platform(pchain), **_make_evm(chain)}


def _make_evm(chain: Chain) -> Names:
    """Make blocks: 1 with contracts, 2 with a token transfer, 3 and 4 with a creation and a revert. Two are pending."""
    counter, token, factory, reverter = (bytecode.created(SENDER, nonce) for nonce in range(4))
    codes = (bytecode.COUNTER, None, bytecode.FACTORY, bytecode.ECHO_REVERT)
    inits = [bytecode.TOKEN_INIT if code is None else bytecode.deploy_code(code) for code in codes]
    chain.send(*(chain.make(to=None, data=init, gas=300_000, value=0) for init in inits))
    first = chain.mine()
    transfer, second = chain.do(
        to=token, value=0, gas=100_000, data=bytecode.transfer_call(RECIPIENT, 10**18)
    )
    made = bytecode.words(7) + bytecode.deploy_code(bytecode.DESTROYER)
    creation, third = chain.do(to=factory, value=9, gas=200_000, data=made)
    reason = bytes.fromhex("08c379a0") + bytecode.words(32, 2) + b"no".ljust(32, b"\0")
    refused, fourth = chain.do(to=reverter, value=0, gas=100_000, data=reason)
    waiting, unsent, later = (chain.make(value=value) for value in (7, 8, 9))
    chain.send(waiting, later)
    ask = by_place()
    return {
        "counter": hexed(counter), "token": hexed(token), "reverter": hexed(reverter),
        "block 1": hexed(first.hash), "block 2": hexed(second.hash), "block 3": hexed(third.hash),
        "block 4": hexed(fourth.hash), "transfer": hexed(transfer.hash),
        "creation": hexed(creation.hash), "refused": hexed(refused.hash),
        "waiting": hexed(waiting.hash), "signed transaction": hexed(unsent.raw),
        "block as bytes": ask("debug_getRawBlock", "0x2"),
        "filter": ask("eth_newFilter", {"address": hexed(token), "fromBlock": "0x0"}),
    }  # fmt: skip


def _make_platform(pchain: PChain) -> Names:
    """Let a user create a subnet with a blockchain, a validator with a delegator, and a pending validator."""
    endpoints = this_node().endpoints
    ask = asking(endpoints.platform.dispatcher)
    keystore = asking(endpoints.keystore.dispatcher)
    keystore("keystore.createUser", **ALICE)
    ask("platform.importKey", **ALICE, privateKey=format_private_key(EWOQ_KEY))

    def do(method: str, **params: Any) -> str:
        made: str = ask(method, **ALICE, **params)["txID"]
        pchain.wait(1)
        return made

    def terms(begin: int, **others: Any) -> dict[str, Any]:
        start = pchain.now + begin
        return {
            "nodeID": str(STAKER), "startTime": start, "endTime": start + 14 * DAY,
            "rewardAddress": OTHER, **others,
        }  # fmt: skip

    subnet = do("platform.createSubnet", controlKeys=[FUNDED], threshold=1)
    blockchain = do(
        "platform.createBlockchain", subnetID=subnet, vmID="subnetevm", name="Example",
        genesisData=encode(b"{}"),
    )  # fmt: skip
    validator = do(
        "platform.addValidator", **terms(60, stakeAmount=2_000 * UNIT, delegationFeeRate=10)
    )
    pchain.wait(60)
    pending = do(
        "platform.addDelegator", **terms(3600, stakeAmount=25 * UNIT, endTime=pchain.now + 10 * DAY)
    )
    do("platform.exportAVAX", amount=UNIT, to=FUNDED.replace("P-", "C-"))
    block = accepted.block_at(this_node().platform_chain, 1)
    assert block is not None
    node_network().platform.begin()
    outer = node_network().platform.rows
    return {
        "subnet": subnet, "blockchain": blockchain, "validator": validator, "delegator": pending,
        "node": str(pchain.node_id), "asset": str(pchain.asset_id), "P block": str(block.block_id),
        "X block": str(this_node().avm_chain.tip().block_id),
        "P container": str(outer.id_at(1)),
        "signed P transaction": encode(_payment(pchain).raw),
        "exported user": keystore("keystore.exportUser", **ALICE)["user"],
        "start": str(pchain.now + 3600), "end": str(pchain.now + 3600 + 14 * DAY),
    }  # fmt: skip


def _payment(pchain: PChain) -> Tx:
    """Return an unsent transaction in which ewoq pays itself; no other transaction here spends its input."""
    return pchain.make(BaseTx, pchain.output(UNIT, address_of(EWOQ_KEY)))


def by_place() -> Any:
    """Return a caller of the C-Chain's API that takes params by position."""
    dispatcher = this_node().endpoints.cchain.dispatcher

    def ask(method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return json.loads(dispatcher.answer(json.dumps(body).encode()) or b"")["result"]

    return ask
