"""A chain of a subnet with every precompile: who may send and create, what managers decide, and a message of the C-Chain."""

import json
from typing import Any

import pytest

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.tracing import Recording
from cchain_app.pool.errors import PoolReason
from cchain_app.precompiles import addresses, predicates
from cchain_app.precompiles.fee_config import DEFAULT_FEE_CONFIG, render_fee_config
from cchain_app.precompiles.predicates import NO_RESULTS, encode_results
from cchain_app.rules.subnet_evm.fees import WINDOW_SIZE
from cchain_app.selectors import blocks, tracing
from cchain_app.selectors.state import state_at
from cchain_app.services import transactions
from cchain_app.store import subnet_chains as rows
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.signing import sign_transaction
from cchain_app.txs.transaction import Transaction, contract_address
from chaindb.connections import in_thread
from nodeproject.node import Node
from nodeproject.startup.chain_databases import upgrade_file_of
from primitives import bls
from primitives.evm import Address, Slot
from primitives.hexadecimal import encode_data
from primitives.warp import AddressedCall, UnsignedMessage, build_payload, build_signed
from tests.builders.bytecode import assemble, deploy_code
from tests.builders.reasons import reason_of
from tests.builders.subnet_evm import FEES, subnet_genesis
from tests.builders.transactions import KEY, SENDER, unsigned
from tests.integration.nodeproject.test_subnet_chains import World, forget, node, started, world
from tests.integration.nodeproject.test_third_chain import application, client, end, mine, over_http

__all__ = ["application", "client", "node", "world"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.node_settings(mining="manual", track_subnets=("all",)),
    pytest.mark.sqlite_only,
]

CHAIN_ID = 9_002
GWEI = 10**9
TIME = 0x6553F100
ROLES = {"blockTimestamp": TIME, "adminAddresses": [encode_data(SENDER)]}
PRECOMPILES: dict[str, Any] = {
    "contractDeployerAllowListConfig": ROLES,
    "contractNativeMinterConfig": ROLES,
    "txAllowListConfig": ROLES,
    "feeManagerConfig": ROLES,
    "rewardManagerConfig": ROLES,
    "warpConfig": {"blockTimestamp": TIME, "requirePrimaryNetworkSigners": True},
}
OTHER_KEY = b"\x07" * 32
REWARDED, MINTED = Address(b"\x71" * 20), Address(b"\x72" * 20)


class Precompiled:
    """The chain, on which the well-known account sends one transaction in each block."""

    def __init__(self, world: World) -> None:
        self.node = world.node
        blockchain_id = world.create(subnet_genesis(CHAIN_ID, **PRECOMPILES))
        assert world.row(blockchain_id).reason == ""
        self.evm = world.chain(blockchain_id)
        self.nonce = 0

    def signed(self, key: bytes = KEY, **fields: Any) -> Transaction:
        values = {
            "chain_id": CHAIN_ID, "value": 0, "gas": 900_000, "max_fee_per_gas": 100 * GWEI, **fields,
        }  # fmt: skip
        return decode_transaction(sign_transaction(unsigned(**values), key), CHAIN_ID)

    def submit(self, sent: Transaction) -> object:
        """Return what the pool says."""
        (outcome,) = transactions.submit(self.node.evm_runtimes[self.evm.name], [sent.raw])
        return outcome

    def do(self, **fields: Any) -> AcceptedBlock:
        """Send a transaction that succeeds, in a block of its own."""
        sent = self.signed(nonce=self.nonce, **fields)
        assert self.submit(sent) == sent.hash
        self.nonce += 1
        number = mine(self.node, self.evm.name)
        block = blocks.by_number(self.evm, number)
        assert block is not None
        assert [(one.hash, receipt.succeeded) for one, receipt in zip(
            block.transactions, block.receipts, strict=True
        )] == [(sent.hash, True)]  # fmt: skip
        (traced,) = tracing.trace_block(self.evm, block, Recording(), time_limit=60.0)
        assert traced.succeeded
        return block

    def call(self, to: Address, selector: str, *words: int | bytes, **fields: Any) -> AcceptedBlock:
        """Call a function of a contract."""
        data = bytes.fromhex(selector) + b"".join(
            word.rjust(32, b"\0") if isinstance(word, bytes) else word.to_bytes(32, "big")
            for word in words
        )
        return self.do(to=to, data=data, **fields)

    def ask(self, method: str, *params: Any) -> Any:
        """Call a method of the chain's interface."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self.node.endpoints.evm[self.evm.name].dispatcher.answer(json.dumps(body).encode())
        return json.loads(answer or b"")["result"]

    def balance(self, account: Address) -> int:
        """Return a balance at the head, in wei."""
        found = state_at(self.evm, blocks.head(self.evm).number).account(account)
        return 0 if found is None else found.balance


@pytest.fixture
def chain(world: World) -> Precompiled:
    return Precompiled(world)


def test_managers_decide_on_the_next_block(chain: Precompiled) -> None:
    fees = DEFAULT_FEE_CONFIG._replace(gas_limit=9_000_000, min_base_fee=7 * GWEI)

    changing = chain.call(addresses.FEE_MANAGER, "8f10b586", *fees)
    rewarding = chain.call(addresses.REWARD_MANAGER, "5e00e679", REWARDED)
    minting = chain.call(addresses.NATIVE_MINTER, "4f5aaaba", MINTED, 5, max_priority_fee_per_gas=1)

    assert changing.header.gas_limit == FEES["gasLimit"]
    assert [one.header.gas_limit for one in (rewarding, minting)] == [9_000_000, 9_000_000]
    assert min(one.header.base_fee or 0 for one in (rewarding, minting)) == 7 * GWEI
    assert rewarding.header.coinbase != REWARDED
    assert minting.header.coinbase == REWARDED
    price = 1 + (minting.header.base_fee or 0)
    assert chain.balance(MINTED) == 5
    assert chain.balance(REWARDED) == minting.header.gas_used * price
    assert [chain.ask("eth_feeConfig", tag) for tag in ("0x0", "latest")] == [
        {"feeConfig": FEES, "lastChangedAt": 0},
        {"feeConfig": render_fee_config(fees), "lastChangedAt": changing.number},
    ]
    head = blocks.head(chain.evm)
    assert blocks.base_fee_after(chain.evm, head) == 7 * GWEI


def test_only_the_listed_send_and_create(chain: Precompiled) -> None:
    other = chain.signed(OTHER_KEY, nonce=0, to=SENDER)
    chain.do(to=other.sender, value=10**18)
    assert reason_of(chain.submit(other)) is PoolReason.SENDER_NOT_LISTED

    chain.call(addresses.TRANSACTION_ALLOW_LIST, "0aaf7043", other.sender)
    assert chain.submit(other) == other.hash
    mine(chain.node, chain.evm.name)
    creation = chain.signed(OTHER_KEY, nonce=1, to=None, data=deploy_code(b"\x00"))
    assert chain.submit(creation) == creation.hash
    block = blocks.by_number(chain.evm, mine(chain.node, chain.evm.name))

    assert block is not None
    assert [receipt.succeeded for receipt in block.receipts] == [False]
    chain.do(to=None, data=deploy_code(b"\x00"))


def test_it_reads_a_message_of_the_c_chain_that_the_primary_network_has_signed(
    chain: Precompiled,
) -> None:
    reader = contract_address(SENDER, chain.nonce)
    made = chain.do(to=None, data=deploy_code(reading()))
    source = chain.node.evm_chain.blockchain_id
    message = UnsignedMessage(12345, source, build_payload(AddressedCall(SENDER, b"hello")))
    secret = chain.node.network.identity.bls_secret

    outcomes = {}
    for name, signed in (("right", message.raw), ("wrong", b"other")):
        keys = predicates.pack(build_signed(message, 1, bls.sign(secret, signed)))
        entry = (addresses.WARP, tuple(map(Slot, keys)))
        block = chain.do(to=reader, access_list=(entry,))
        state = state_at(chain.evm, block.number)
        word = state.storage(reader, Slot((1).to_bytes(32, "big")))
        results = block.header.extra_data[WINDOW_SIZE:]
        outcomes[name] = (int.from_bytes(word, "big"), results == encode_results(
            {block.transactions[0].hash: int(name == "wrong")}
        ))  # fmt: skip

    assert made.header.extra_data[WINDOW_SIZE:] == NO_RESULTS
    assert outcomes == {"right": (2, True), "wrong": (1, True)}


def reading() -> bytes:
    """Return code that stores in slot 1 whether the first message holds, plus one."""
    head = assemble(0x6F825350 << 224, 0, "MSTORE")
    called = assemble(96, 64, 36, 0, 0, int.from_bytes(addresses.WARP, "big"), "GAS CALL POP")
    return head + called + assemble(96, "MLOAD", 1, "ADD", 1, "SSTORE")


def test_an_upgrade_file_begins_a_precompile_later_but_not_earlier(world: World) -> None:
    settings = world.node.settings
    blockchain_id = world.create(subnet_genesis(CHAIN_ID))
    name, path = str(blockchain_id), upgrade_file_of(blockchain_id, settings)
    first = blocks.by_number(world.chain(blockchain_id), mine(world.node, name))
    assert first is not None

    def upgraded(*entries: Any) -> Node:
        """Return the node as it starts with an upgrade file."""
        path.write_text(json.dumps({"precompileUpgrades": entries}))
        forget(world.node)
        node = started(settings)
        node.subnet_chains.look()
        return node

    later = {"contractNativeMinterConfig": {**ROLES, "blockTimestamp": first.header.timestamp + 1}}
    node = upgraded(later)
    chain = node.evm_chains[name]
    before = state_at(chain, 1).account(addresses.NATIVE_MINTER)
    number = mine(node, name)
    after = state_at(chain, number).account(addresses.NATIVE_MINTER)
    node.endpoints.workers.close()

    assert before is None
    assert after is not None
    assert after.nonce == 1
    for entries, reason in (
        ((), "upgrade file: contractNativeMinterConfig should have ended by block 2, and has not: "
         "upgrades cannot change for a time that has passed"),
        ((later,), ""),
        ((later, {"rewardManagerConfig": {"blockTimestamp": first.header.timestamp + 1}}),
         "upgrade file: rewardManagerConfig should have begun by block 2, and has not: "
         "upgrades cannot change for a time that has passed"),
        (({"noConfig": {}},), "precompileUpgrades[0]: unknown precompile config: noConfig"),
        (("no object",), "upgrade file: precompileUpgrades: not a list of objects"),
    ):  # fmt: skip
        node = upgraded(*entries)
        found = next(row for row in rows.rows(node.database) if row.blockchain_id == blockchain_id)
        assert found.reason == reason
        node.endpoints.workers.close()


async def test_prices_follow_the_manager_over_http(application: Any, world: World) -> None:
    chain = await in_thread(Precompiled, world)
    fees = DEFAULT_FEE_CONFIG._replace(min_base_fee=7 * GWEI)
    await in_thread(chain.call, addresses.FEE_MANAGER, "8f10b586", *fees)
    path = f"/ext/bc/{chain.evm.name}/rpc"

    async def asked(method: str, *params: Any) -> Any:
        return await over_http(application, path, method, *params)

    assert int(await asked("eth_baseFee"), 16) == 7 * GWEI
    assert int(await asked("eth_gasPrice"), 16) >= 7 * GWEI
    history = await asked("eth_feeHistory", "0x1", "latest", [])
    assert [int(price, 16) for price in history["baseFeePerGas"]] == [GWEI, 7 * GWEI]
    pending = await asked("eth_getBlockByNumber", "pending", False)
    assert int(pending["baseFeePerGas"], 16) == 7 * GWEI
    sender = encode_data(SENDER)
    assert int(await asked("eth_estimateGas", {"from": sender, "to": sender}), 16) == 21_000
    (simulated,) = await asked("eth_simulateV1", {"blockStateCalls": [{}]}, "latest")
    assert int(simulated["number"], 16) == 2
    await end(application)
