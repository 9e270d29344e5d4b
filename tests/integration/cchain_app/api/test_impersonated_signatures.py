"""anvil_impersonateSignature: ecrecover returns the given signer, in calls immediately and in later blocks.

Every block that the tests make is recomputed at the end, with the signers stored in its rows.
"""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from cchain_app import models
from cchain_app.selectors import blocks
from cchain_app.services import accounts
from chainvm.port import BlockContext, HeadMoved
from jsonrpc.errors import JsonRpcError
from primitives.evm import Address, Hash
from primitives.secp256k1 import sign
from tests.builders import bytecode
from tests.builders.cchain import JUNK_KEYS, SENDERS
from tests.integration.conftest import Chain, Rpc

pytestmark = pytest.mark.sqlite_only

NONSENSE = "0x" + "ff" * 64 + "1b"
"""No point of the curve has this r, so the signature is invalid for every key."""
STRANGER = "0x" + "57" * 20
OTHER = "0x" + "58" * 20
ECRECOVER = "0x" + "00" * 19 + "01"
DIGEST = "d1" * 32
NOBODY = "0x"
"""The output of ecrecover for an invalid signature: empty."""
ASKING = bytecode.assemble(
    "CALLDATASIZE 0 0 CALLDATACOPY 32 128 CALLDATASIZE 0 1 GAS STATICCALL POP "
    "128 MLOAD DUP1 0 SSTORE 0 MSTORE 32 0 RETURN"
)
"""Code that calls ecrecover with its call data and stores the result in slot 0."""
CONTRACT = "0x" + "c0" * 20


def refused(rpc: Rpc, method: str, *params: Any) -> tuple[int, str]:
    with pytest.raises(JsonRpcError) as refusal:
        rpc(method, *params)
    return refusal.value.code, refusal.value.message


def word(address: str) -> str:
    return "0x" + address[2:].rjust(64, "0")


def question(signature: str = NONSENSE, digest: str = DIGEST) -> str:
    """Return the input of ecrecover: digest, v, r, s."""
    return f"0x{digest}{signature[-2:].rjust(64, '0')}{signature[2:130]}"


def ask(rpc: Rpc, signature: str = NONSENSE, block: str = "latest", digest: str = DIGEST) -> str:
    """Return the result of ecrecover through eth_call."""
    call = {"to": ECRECOVER, "data": question(signature, digest)}
    return str(rpc("eth_call", call, block))


def stored(rpc: Rpc, block: str = "latest") -> str:
    return str(rpc("eth_getStorageAt", CONTRACT, "0x0", block))


@pytest.fixture
def asking(rpc: Rpc, chain: Chain) -> Chain:
    """A chain with the code that calls ecrecover at `CONTRACT`."""
    rpc("anvil_setCode", CONTRACT, f"0x{ASKING.hex()}")
    return chain


def do_ask(chain: Chain) -> str:
    """Call ecrecover from a transaction in its own block, and return the transaction's hash."""
    data = bytes.fromhex(question()[2:])
    to = Address(bytes.fromhex(CONTRACT[2:]))
    sent, _ = chain.do(to=to, data=data, value=0, gas=200_000)
    return f"0x{sent.hash.hex()}"


@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.node_settings(engine=name))
        for name in ("native", "reference")
    ]
)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("params", [[[NONSENSE, STRANGER]], [NONSENSE, STRANGER]])
def test_calls_see_it_at_once(engine: str, rpc: Rpc, chain: Chain, params: list[Any]) -> None:
    assert ask(rpc) == NOBODY
    assert rpc("anvil_impersonateSignature", *params) is None
    assert ask(rpc) == word(STRANGER)
    assert ask(rpc, block="pending") == word(STRANGER)
    assert ask(rpc, digest="00" * 32) == word(STRANGER)
    assert ask(rpc, NONSENSE[:-2] + "1c") == NOBODY


def test_at_all_heights(rpc: Rpc, chain: Chain) -> None:
    chain.mine()
    rpc("anvil_impersonateSignature", [NONSENSE, STRANGER])
    assert [ask(rpc, block=hex(number)) for number in range(2)] == [word(STRANGER)] * 2


def test_a_real_signature_gets_another_signer_until_a_third_is_named(
    rpc: Rpc, chain: Chain
) -> None:
    made = sign(Hash(bytes.fromhex(DIGEST)), JUNK_KEYS[0])
    signature = f"0x{made.r:064x}{made.s:064x}{27 + made.y_parity:02x}"
    assert ask(rpc, signature) == word(f"0x{SENDERS[0].hex()}")
    for signer in (STRANGER, OTHER):
        rpc("anvil_impersonateSignature", [signature, signer])
        assert ask(rpc, signature) == word(signer)
    assert models.ImpersonatedSignature.objects.count() == 1


def test_a_transaction_sees_it_in_its_block(engine: str, rpc: Rpc, asking: Chain) -> None:
    rpc("anvil_impersonateSignature", [NONSENSE, STRANGER])
    sent = do_ask(asking)

    assert stored(rpc) == word(STRANGER)
    assert rpc("eth_getTransactionReceipt", sent)["status"] == "0x1"
    trace = rpc("debug_traceTransaction", sent, {"tracer": "callTracer"})
    assert trace["calls"][0]["output"] == word(STRANGER)


def test_estimates_and_traced_calls_see_it(rpc: Rpc, asking: Chain) -> None:
    call = {"to": CONTRACT, "data": question()}
    before = int(rpc("eth_estimateGas", call), 16)
    rpc("anvil_impersonateSignature", [NONSENSE, STRANGER])

    # It sets a slot that stayed zero when no signer was recovered.
    assert int(rpc("eth_estimateGas", call), 16) > before + 15_000
    traced = rpc("debug_traceCall", call, "latest", {"tracer": "callTracer"})
    assert traced["output"] == word(STRANGER)
    asking.mine()
    (simulated,) = rpc("eth_simulateV1", {"blockStateCalls": [{"calls": [call]}]}, "latest")
    assert simulated["calls"][0]["returnData"] == word(STRANGER)


def test_gas_used_is_unchanged(rpc: Rpc, chain: Chain) -> None:
    call = {"to": ECRECOVER, "data": question()}
    before = rpc("eth_estimateGas", call)
    rpc("anvil_impersonateSignature", [NONSENSE, STRANGER])
    assert rpc("eth_estimateGas", call) == before


def test_earlier_blocks_are_unchanged(rpc: Rpc, asking: Chain) -> None:
    sent = [do_ask(asking)]
    for signer in (STRANGER, OTHER):
        rpc("anvil_impersonateSignature", [NONSENSE, signer])
        sent.append(do_ask(asking))

    traces = [rpc("debug_traceTransaction", item, {"tracer": "callTracer"}) for item in sent]
    assert [trace["output"] for trace in traces] == [word(NOBODY), word(STRANGER), word(OTHER)]
    assert [stored(rpc, hex(number)) for number in (1, 2, 3)] == [
        word(NOBODY),
        word(STRANGER),
        word(OTHER),
    ]
    raw = rpc("debug_getRawBlock", "0x2")
    (handed_in,) = rpc("debug_traceBlock", raw, {"tracer": "callTracer"})
    assert handed_in["result"]["output"] == word(STRANGER)


def test_it_survives_a_restart(rpc: Rpc, asking: Chain) -> None:
    rpc("anvil_impersonateSignature", [NONSENSE, STRANGER])
    asking.forget()
    assert ask(rpc) == word(STRANGER)
    do_ask(asking)
    asking.forget()
    assert stored(rpc) == word(STRANGER)
    assert ask(rpc) == word(STRANGER)


@pytest.mark.parametrize("back", ["evm_revert", "anvil_rollback"])
def test_impersonated_signature_survives_a_revert(rpc: Rpc, asking: Chain, back: str) -> None:
    asking.mine()
    snapshot = rpc("evm_snapshot")
    rpc("anvil_impersonateSignature", [NONSENSE, OTHER])
    asking.mine()
    rpc("anvil_impersonateSignature", [NONSENSE, STRANGER])
    asking.mine()
    rpc(back, snapshot if back == "evm_revert" else 2)
    assert blocks.head(asking.evm).number == 1

    assert ask(rpc) == word(STRANGER)
    do_ask(asking)
    assert stored(rpc) == word(STRANGER)
    assert models.ImpersonatedSignature.objects.get().number == 2


def test_a_reset_forgets_it(rpc: Rpc, chain: Chain) -> None:
    chain.mine()
    rpc("anvil_impersonateSignature", [NONSENSE, STRANGER])
    rpc("anvil_reset")
    assert ask(rpc) == NOBODY
    assert models.ImpersonatedSignature.objects.count() == 0


def test_a_block_that_was_built_without_it_is_built_again(rpc: Rpc, asking: Chain) -> None:
    data = bytes.fromhex(question()[2:])
    to = Address(bytes.fromhex(CONTRACT[2:]))
    asking.send(asking.make(to=to, data=data, value=0, gas=200_000))
    vm = asking.runtime.vm
    built = vm.build(BlockContext(asking.now + 1))
    assert built is not None
    rpc("anvil_impersonateSignature", [NONSENSE, STRANGER])
    with pytest.raises(HeadMoved):
        vm.accept([built.block_id], written=lambda _: None)
    asking.mine()
    assert stored(rpc) == word(STRANGER)


def test_a_chain_with_it_is_exported_on_request_alone(
    rpc: Rpc, chain: Chain, tmp_path: Path
) -> None:
    chain.mine()
    rpc("anvil_impersonateSignature", [NONSENSE, STRANGER])
    file = str(tmp_path / "blocks")
    call_command("export_chain", file)
    chain.mine()
    with pytest.raises(CommandError, match="was edited"):
        call_command("export_chain", file)
    call_command("export_chain", file, "--with-changes")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ([], "missing value for required argument 0"),
        ([NONSENSE], "missing value for required argument 1"),
        ([[NONSENSE, STRANGER], STRANGER], "too many arguments, want at most 1"),
        ([NONSENSE, STRANGER, "0x"], "too many arguments, want at most 2"),
        ([[]], "a signature and an address were expected, not 0 values"),
        ([[NONSENSE]], "a signature and an address were expected, not 1 value"),
        ([[NONSENSE[:-2], STRANGER]], "a signature has 65 bytes, not 64"),
        ([NONSENSE + "00", STRANGER], "a signature has 65 bytes, not 66"),
        ([[NONSENSE, "0x12"]], "hex string has length 2, want 40"),
        ([[NONSENSE, None]], "cannot unmarshal non-string"),
        ([7, STRANGER], "cannot unmarshal non-string"),
        ([{"signature": NONSENSE}, STRANGER], "cannot unmarshal non-string"),
    ],
)
def test_invalid_arguments_are_refused_with_a_message(
    rpc: Rpc, chain: Chain, params: list[Any], words: str
) -> None:
    code, message = refused(rpc, "anvil_impersonateSignature", *params)
    assert code == -32602
    assert words in message
    assert models.ImpersonatedSignature.objects.count() == 0


def test_number_of_impersonated_signatures_is_limited(
    rpc: Rpc, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "MAX_SIGNATURES", 1)
    rpc("anvil_impersonateSignature", [NONSENSE, STRANGER])
    rpc("anvil_impersonateSignature", [NONSENSE, STRANGER])
    assert refused(rpc, "anvil_impersonateSignature", [NONSENSE[:-2] + "1c", STRANGER]) == (
        -32000,
        "at most 1 signatures can be impersonated; anvil_reset forgets them",
    )
    assert ask(rpc) == word(STRANGER)


def test_method_is_refused_on_a_chain_with_peers(
    rpc: Rpc, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain.evm, "has_peers", lambda: True)
    assert refused(rpc, "anvil_impersonateSignature", [NONSENSE, STRANGER]) == (
        -32000,
        "development methods need a chain of this node alone",
    )
    assert ask(rpc) == NOBODY
