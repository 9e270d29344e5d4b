"""A chain whose time brings allow lists: the block in which they begin, the pool from then on, and traces."""

from dataclasses import replace

import pytest

from cchain_app import models
from cchain_app.evm.tracing import Recording
from cchain_app.evm.upgrades import role_of
from cchain_app.pool.errors import PoolReason
from cchain_app.precompiles import addresses
from cchain_app.precompiles.addresses import PrecompileKey, Role
from cchain_app.precompiles.schedule import InitialRoles, PrecompileConfig, PrecompileSchedule
from cchain_app.precompiles.sent import SENT, sent_messages
from cchain_app.selectors import tracing
from cchain_app.selectors.state import state_at
from chaindb import clock
from primitives.evm import Address
from primitives.hexadecimal import checksum_address, encode_data
from primitives.ids import ID
from primitives.keys import DEV_KEYS
from primitives.warp import UnsignedMessage
from tests.builders.bytecode import assemble
from tests.builders.reasons import raises
from tests.builders.transactions import SENDER, signed
from tests.integration.conftest import Chain, Rpc

pytestmark = pytest.mark.node_settings(mining="manual")

OTHER, OTHER_KEY = next(
    (Address(bytes.fromhex(address[2:])), bytes.fromhex(key[2:]))
    for address, key in ((encode_data(account), key) for account, key in list(DEV_KEYS.items())[1:])
)
MINT = bytes.fromhex("4f5aaaba")


@pytest.fixture
def chain(db: None, node_settings: object, monkeypatch: pytest.MonkeyPatch) -> Chain:
    """A chain with a transaction allow list and a native minter from its second block on."""
    made = Chain()
    roles = InitialRoles(admin=(SENDER,))
    begin = made.now + 2
    configs = (
        PrecompileConfig(PrecompileKey.NATIVE_MINTER, begin, roles=roles),
        PrecompileConfig(PrecompileKey.TRANSACTION_ALLOW_LIST, begin, roles=roles),
    )
    evm = made.evm
    evm.config = replace(evm.config, stateful=PrecompileSchedule(configs))
    monkeypatch.setattr(clock, "cchain_now", lambda: made.now)
    return made


@pytest.mark.sqlite_only  # a development method sets the code
@pytest.mark.parametrize("topics", [1, 3, 4])
def test_a_log_of_other_code_at_warps_address_is_no_message(
    chain: Chain, rpc: Rpc, topics: int
) -> None:
    words = [7] * (topics - 1) + [int.from_bytes(SENT, "big")]
    code = assemble("CALLDATASIZE", 0, 0, "CALLDATACOPY", *words, "CALLDATASIZE", 0, f"LOG{topics}")
    rpc("anvil_setCode", encode_data(addresses.WARP), encode_data(code))
    message = UnsignedMessage(12345, ID(bytes(32)), b"").raw
    data = b"".join(size.to_bytes(32, "big") for size in (32, len(message))) + message

    _, block = chain.do(to=addresses.WARP, data=data, gas=200_000, value=0)

    (receipt,) = block.receipts
    assert [len(log.topics) for log in receipt.logs] == [topics]
    assert not models.WarpMessage.objects.exists()
    messages = list(sent_messages(receipt.logs))
    assert [one.message.raw for one in messages] == ([message] if topics == 3 else [])


def test_lists_begin_with_their_block_and_bind_the_pool(chain: Chain, rpc: Rpc) -> None:
    chain.send(signed(nonce=0, key=OTHER_KEY))
    chain.mine()

    minting = MINT + OTHER.rjust(32, b"\0") + (7).to_bytes(32, "big")
    before = int(rpc("eth_getBalance", encode_data(OTHER), "latest"), 16)
    _, block = chain.do(to=addresses.NATIVE_MINTER, data=minting, gas=200_000, value=0)

    (receipt,) = block.receipts
    assert receipt.succeeded
    assert int(rpc("eth_getBalance", encode_data(OTHER), "latest"), 16) == before + 7
    state = state_at(chain.evm, block.number)
    assert role_of(state, addresses.TRANSACTION_ALLOW_LIST, SENDER) == Role.ADMIN
    (traced,) = tracing.trace_block(chain.evm, block, Recording(), time_limit=60.0)
    assert traced.succeeded
    words = f"cannot issue transaction from non-allow listed address: {checksum_address(OTHER)}"
    with raises(PoolReason.SENDER_NOT_LISTED, match=words):
        chain.send(signed(nonce=1, key=OTHER_KEY))

    set_enabled = bytes.fromhex("0aaf7043") + OTHER.rjust(32, b"\0")
    chain.do(to=addresses.TRANSACTION_ALLOW_LIST, data=set_enabled, gas=200_000, value=0)
    chain.send(signed(nonce=1, key=OTHER_KEY))
    assert len(chain.mine().transactions) == 1
