"""The log of accepted blocks and of calls: its lines, and cases without any."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import eth_abi
import pytest

from cchain_app.api import loop_gas
from cchain_app.services.transaction_log import RECORDING, TransactionLog
from cchain_app.transaction_log.declarations import Declaration, KnownSignatures
from cchain_app.transaction_log.waiting import LogQueue
from jsonrpc.dispatch.dispatcher import MISS
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from nodeproject.startup.log_format import json_formatter
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address
from primitives.printable import COLOUR
from tests.builders import bytecode
from tests.builders.bytecode import words
from tests.builders.evm_chains import another_process
from tests.builders.hot_dispatcher import hot_dispatcher
from tests.builders.transactions import RECIPIENT, SENDER

EMBEDDED = pytest.mark.node_settings(profile="embedded")

TELLER, REVERTER, PROXY, FOURTH = (bytecode.created(SENDER, nonce) for nonce in range(4))
PASSING_ON = bytecode.assemble(
    "32 CALLDATASIZE SUB 32 0 CALLDATACOPY 0 0 32 CALLDATASIZE SUB 0 0 0 CALLDATALOAD GAS CALL POP "
    "RETURNDATASIZE 0 0 RETURNDATACOPY RETURNDATASIZE 0 REVERT"
)
"""(address, data): CALL, then a revert with its output."""


def encoded(signature: str, *values: object) -> bytes:
    inside = signature.partition("(")[2][:-1].split(",")
    return keccak256(signature.encode())[:4] + eth_abi.encode(inside, values)


def reverting(told: bytes, data: bytes) -> bytes:
    return words(len(told)) + told + data


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


@pytest.fixture
def log(chain: Any, caplog: pytest.LogCaptureFixture) -> Iterator[TransactionLog]:
    """The log of the chain's process, with three contracts; it writes only on demand."""
    for code in (bytecode.TELLER, bytecode.TELLING_REVERTER, bytecode.PROXY):
        chain.do(to=None, data=bytecode.deploy_code(code), gas=500_000, value=0)
    made = this_node().transaction_logs["C"]
    made.begin(in_thread=False)
    yield made
    made.end()


@pytest.fixture
def lines(log: TransactionLog, caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Return a function that flushes the log and returns all entries written so far."""

    def written() -> list[str]:
        log.work_off()
        return entries(caplog)

    return written


def entries(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        COLOUR.sub("", record.getMessage())
        for record in caplog.records
        if record.name.startswith("node.")
    ]


def test_transaction_log_shows_console_output(chain, lines) -> None:
    told = encoded("log(string,uint256)", "%d items", 3)
    sent, block = chain.do(to=TELLER, data=told, gas=100_000, value=0)
    used = block.receipts[0].cumulative_gas_used

    assert lines() == [
        f"""\
  Method:              0x{told[:4].hex()}
  Transaction:         {hexed(sent.hash)}
  From:                {checksum_address(SENDER)}
  To:                  {checksum_address(TELLER)}
  Value:               0 AVAX
  Gas used:            {used} of 100000
  Block #4:            {hexed(block.hash)}

  console.log:
    3 items
"""
    ]


@pytest.mark.node_settings(console_log=False)
def test_without_console_log_the_rest_of_a_transaction_is_shown(chain, lines) -> None:
    chain.do(to=TELLER, data=encoded("log(string,uint256)", "%d items", 3), gas=100_000, value=0)

    (entry,) = lines()
    assert "Block #4:" in entry
    assert "console.log" not in entry


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (encoded("Error(string)", "not today"), "reverted with reason string 'not today'"),
        (
            encoded("Panic(uint256)", 0x12),
            "reverted with panic code 0x12 (division or modulo by zero)",
        ),
        (
            encoded("ERC721NonexistentToken(uint256)", 7),
            "reverted with custom error ERC721NonexistentToken(7)",
        ),
        (b"\x2b\xbd\xbc\x26", "reverted with custom error 0x2bbdbc26"),
        (b"", "reverted without a reason"),
    ],
)
def test_failure_log_shows_reason_and_console_output(chain, lines, data, reason) -> None:
    told = encoded("log(string)", "before")
    chain.do(to=REVERTER, data=reverting(told, data), gas=100_000, value=0)

    (text,) = lines()
    assert f"\n  Error:               {reason}\n" in text
    assert text.endswith("\n\n  console.log:\n    before\n")


def test_a_failed_creation_shows_the_frame_that_failed(chain, lines) -> None:
    # init code that calls the reverter and propagates its failure
    data = encoded("Error(string)", "inner")
    call = reverting(b"", data)
    init = bytecode.assemble("0 0 0 0 0", int.from_bytes(REVERTER), "GAS CALL")
    tail = bytecode.assemble("RETURNDATASIZE 0 0 RETURNDATACOPY RETURNDATASIZE 0 REVERT")
    size = len(call)
    copy = b"\x61" + size.to_bytes(2, "big") + b"\x60%o\x60\x00\x39"
    init = (
        copy
        + b"\x5f\x5f\x61" + size.to_bytes(2, "big") + b"\x5f\x5f\x73" + REVERTER + b"\x5a\xf1"
        + tail
    )  # fmt: skip
    init = init.replace(b"%o", bytes([len(init) - 1]))
    chain.do(to=None, data=init + call, gas=300_000, value=0)

    (text,) = lines()
    assert "  Contract created:    0x" in text
    assert "\n  Error:               reverted with reason string 'inner'\n" in text
    assert f"\n  Failed in:           CALL {checksum_address(REVERTER)} 0x00000000\n" in text


def test_a_transfer_is_not_executed_again(chain, lines, monkeypatch) -> None:
    monkeypatch.setattr("cchain_app.selectors.tracing.BlockReplay", None)
    sent, _ = chain.do(to=RECIPIENT, value=5)

    (text,) = lines()
    assert f"Transaction:         {hexed(sent.hash)}\n" in text


def test_an_empty_block_is_one_line(chain, lines) -> None:
    block = chain.mine()

    assert lines() == [f"Mined empty block #4 with base fee {block.header.base_fee}"]


def test_unrecordable_transaction_is_marked_alone(chain, lines, monkeypatch) -> None:
    monkeypatch.setattr(
        "cchain_app.services.transaction_log.RECORDING",
        RECORDING._replace(most_bytes=4000),
    )
    long = encoded("log(bytes)", bytes(5000))
    short = encoded("log(string)", "short")
    chain.send(
        chain.make(to=TELLER, data=short, gas=300_000, value=0),
        chain.make(to=TELLER, data=long, gas=300_000, value=0),
    )
    chain.mine()

    first, second = lines()
    assert first.endswith("console.log:\n    short\n")
    assert "\n  Not recorded:        " in second
    assert "console.log" not in second


def test_a_call_shows_its_messages_once_also_if_it_reverts(rpc, chain, lines) -> None:
    told = encoded("log(string,bool)", "seen", True)
    rpc("eth_call", {"to": hexed(TELLER), "input": hexed(told)})
    data = reverting(encoded("log(string)", "undone"), encoded("Error(string)", "no"))
    with pytest.raises(JsonRpcError, match="execution reverted: no"):
        rpc("eth_call", {"to": hexed(REVERTER), "input": hexed(data)})

    assert lines() == [
        "eth_call\n\n  console.log:\n    seen true",
        "eth_call\n  Error:               reverted with reason string 'no'\n\n  console.log:\n    undone",
    ]


def test_an_estimate_shows_its_messages_once(rpc, chain, lines) -> None:
    # called with decreasing gas, and through another contract
    told = words(TELLER) + encoded("log(string)", "estimated")
    rpc("eth_estimateGas", {"to": hexed(PROXY), "input": hexed(told)})
    data = reverting(encoded("log(string)", "undone"), b"")
    with pytest.raises(JsonRpcError, match="execution reverted"):
        rpc("eth_estimateGas", {"to": hexed(REVERTER), "input": hexed(data)})

    assert lines() == [
        "eth_estimateGas\n\n  console.log:\n    estimated",
        "eth_estimateGas\n  Error:               reverted without a reason\n\n  console.log:\n    undone",
    ]


@EMBEDDED
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (encoded("Error(string)", "not today"), "reverted with reason string 'not today'"),
        (
            encoded("Panic(uint256)", 0x11),
            "reverted with panic code 0x11 (arithmetic underflow or overflow)",
        ),
        (
            encoded("ERC721NonexistentToken(uint256)", 7),
            "reverted with custom error ERC721NonexistentToken(7)",
        ),
    ],
)
def test_a_call_that_fails_shows_why_and_in_which_frame(rpc, chain, lines, data, reason) -> None:
    chain.do(to=None, data=bytecode.deploy_code(PASSING_ON), gas=500_000, value=0)
    called = words(REVERTER) + reverting(b"", data)
    for method in ("eth_call", "eth_estimateGas", "eth_sendTransaction"):
        with pytest.raises(JsonRpcError, match="execution reverted"):
            rpc(method, {"to": hexed(FOURTH), "input": hexed(called), "from": hexed(SENDER)})

        assert lines()[-1] == (
            f"{method}\n"
            f"  Error:               {reason}\n"
            f"  Failed in:           CALL {checksum_address(REVERTER)} 0x00000000"
        )


def test_errors_of_calls_are_shown_with_their_messages(rpc, chain, lines, log) -> None:
    for method, params in (
        ("eth_call", [{"to": "0x12"}]),
        ("eth_sendRawTransaction", ["0x01"]),
        ("eth_getBalance", [hexed(SENDER), "0x99"]),
    ):
        with pytest.raises(JsonRpcError) as error:
            rpc(method, *params)
        assert lines()[-1].endswith(f"{method}\n  Error:               {error.value.message}")


def test_the_same_failure_is_shown_once_with_a_count(rpc, chain, lines) -> None:
    chain.do(to=None, data=bytecode.deploy_code(bytecode.ECHO_REVERT), gas=500_000, value=0)
    data = encoded("Error(string)", "no")
    for _ in range(3):
        with pytest.raises(JsonRpcError, match="execution reverted: no"):
            rpc("eth_call", {"to": hexed(FOURTH), "input": hexed(data)})

    assert lines()[1:] == [
        "eth_call (3 times)\n  Error:               reverted with reason string 'no'"
    ]


def test_a_contract_names_its_own_errors_and_functions(rpc, chain, log, lines) -> None:
    error, function = (
        Declaration.parse(text) for text in ("Broke(uint256 debt)", "pay(uint256 amount)")
    )
    declared = {REVERTER: KnownSignatures([function], [error])}
    log.declared = declared.get
    data = reverting(b"", encoded("Broke(uint256)", 12))
    with pytest.raises(JsonRpcError, match="execution reverted"):
        rpc("eth_call", {"to": hexed(REVERTER), "input": hexed(data)})
    chain.do(to=REVERTER, data=data, gas=100_000, value=0)
    chain.do(to=REVERTER, data=encoded("pay(uint256)", 3), gas=100_000, value=0)

    called, sent, paid = lines()
    assert "  Error:               reverted with custom error Broke(12)" in called
    assert "  Error:               reverted with custom error Broke(12)" in sent
    assert "  Method:              pay(uint256)" in paid


@pytest.mark.node_settings(print_traces=True)
def test_traces_are_printed_of_transactions_calls_and_estimates(rpc, chain, lines) -> None:
    told = encoded("log(string)", "once")
    asked = {"to": hexed(PROXY), "input": hexed(words(TELLER) + told), "gas": "0x186a0"}
    rpc("eth_call", asked)
    rpc("eth_call", asked)
    rpc("eth_estimateGas", asked)
    chain.do(to=PROXY, data=words(TELLER) + told, gas=100_000, value=0)
    sent, _ = chain.do(value=5)

    *others, transfer = lines()
    assert [text.partition("\n")[0] for text in others] == [
        "eth_call",
        "eth_call",
        "eth_estimateGas",
        f"  Method:              0x{bytes(12).hex()[:8]}",
    ]
    for text in others:
        assert "  console.log:\n    once\n" in text
        _, _, tree = text.partition("\n  Traces:\n")
        head, inner, console, *rest = tree.splitlines()
        assert head.endswith(
            f"] {checksum_address(PROXY)}::0x00000000(0x{(words(TELLER) + told)[4:].hex()})"
        )
        assert inner.startswith("      ├─ [")
        assert inner.endswith(
            f"] {checksum_address(TELLER)}::0x{told[:4].hex()}({hexed(told[4:])})"
        )
        assert console == "      │   ├─ [0] console::log(once) [staticcall]"
        assert [line.strip() for line in rest if line][-1].startswith("└─ ← [")
    assert f"  Transaction:         {hexed(sent.hash)}" in transfer
    assert (
        f"\n  Traces:\n    [0] {checksum_address(RECIPIENT)}::fallback{{value: 5}}()\n" in transfer
    )


@pytest.mark.node_settings(print_traces=True, console_log=False)
def test_traces_of_failures_name_the_reason(rpc, chain, lines) -> None:
    data = encoded("Error(string)", "no")
    asked = {"to": hexed(REVERTER), "input": hexed(reverting(b"", data))}
    with pytest.raises(JsonRpcError, match="execution reverted: no"):
        rpc("eth_call", asked)
    with pytest.raises(JsonRpcError, match="insufficient funds"):
        rpc("eth_call", asked | {"from": "0x" + "77" * 20, "value": "0x1"})

    failed, rejected = lines()
    assert failed.endswith("      └─ ← [Revert] reason string 'no'")
    assert "  Error:               reverted with reason string 'no'\n" in failed
    assert "Traces" not in rejected
    assert "console.log" not in failed + rejected


@pytest.mark.node_settings(print_traces=True)
def test_calls_with_printed_traces_bypass_the_shortcut(rpc, chain, log, lines) -> None:
    asked = body("eth_call", {"to": hexed(RECIPIENT)}, "latest")
    assert b'"result"' in hot_dispatcher().answer(asked)
    for _ in range(2):
        assert b'"result"' in asyncio.run(on_event_loop(asked))

    assert [text.count("Traces:") for text in lines()] == [1, 1, 1]


@pytest.mark.node_settings(print_traces=True)
def test_traces_are_members_in_json(rpc, chain, log, caplog) -> None:
    chain.do(value=5)
    log.work_off()

    (record,) = [item for item in caplog.records if item.name == "node.transactions"]
    shown = json.loads(json_formatter().format(record))
    assert shown["traces"] == [
        f"[0] {checksum_address(RECIPIENT)}::fallback{{value: 5}}()", "  └─ ← [Stop]",
    ]  # fmt: skip


def test_failed_calls_have_members_in_json(rpc, chain, log, caplog) -> None:
    with pytest.raises(JsonRpcError):
        rpc("eth_sendRawTransaction", "0x01")
    log.work_off()

    (record,) = [item for item in caplog.records if item.name == "node.calls"]
    shown = json.loads(json_formatter().format(record))
    assert (shown["event"], shown["method"]) == ("call", "eth_sendRawTransaction")
    assert (shown["code"], shown["failed_in"]) == (-32000, None)
    assert shown["error"] == "typed transaction too short"


def test_a_call_without_messages_is_not_executed_again(rpc, chain, log, lines) -> None:
    rpc("eth_call", {"to": hexed(RECIPIENT)})

    assert log._line._line[0].trace is None
    assert lines() == ["eth_call"]


async def on_event_loop(asked: bytes) -> object:
    return hot_dispatcher().answer_hot(asked)


def body(method: str, *params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def test_a_call_that_is_sent_on_to_a_thread_is_reported_there_alone(chain, lines) -> None:
    told = encoded("log(string)", "once")
    asked = body("eth_call", {"to": hexed(TELLER), "input": hexed(told)})
    chain.forget()
    log = this_node().transaction_logs["C"]
    log.begin(in_thread=False)

    assert asyncio.run(on_event_loop(asked)) is MISS
    assert b'"result"' in hot_dispatcher().answer(asked)
    log.work_off()
    assert lines() == ["eth_call\n\n  console.log:\n    once"]
    assert b'"result"' in asyncio.run(on_event_loop(asked))
    log.work_off()
    log.end()
    assert lines() == ["eth_call\n\n  console.log:\n    once"] * 2


def test_batch_moved_to_a_thread_logs_messages_once(rpc, chain, lines, monkeypatch) -> None:
    monkeypatch.setattr(loop_gas, "SECONDS_OF_REQUEST", 60.0)
    told = encoded("log(string)", "once")
    asked = body("eth_call", {"to": hexed(TELLER), "input": hexed(told)})
    unknown = body("eth_getBalance", "0x" + "31" * 20, "latest")
    batch = b"[%b,%b]" % (asked, unknown)
    assert b'"result"' in hot_dispatcher().answer(asked)
    assert lines() == ["eth_call\n\n  console.log:\n    once"]

    assert asyncio.run(on_event_loop(batch)) is MISS
    assert hot_dispatcher().answer(batch).count(b'"result"') == 2
    assert lines() == ["eth_call\n\n  console.log:\n    once"] * 2


def test_names_of_methods_are_shown_but_of_those_that_read(rpc, chain, lines) -> None:
    rpc("eth_blockNumber")
    rpc("eth_getBalance", hexed(SENDER), "latest")
    for _ in range(3):
        rpc("eth_createAccessList", {"to": hexed(RECIPIENT), "from": hexed(SENDER)})
    with pytest.raises(JsonRpcError, match="does not exist"):
        rpc("eth_nosuch")

    assert lines() == ["eth_createAccessList (3 times)", "eth_nosuch: no such method"]


def test_at_level_debug_methods_that_read_are_named_too(rpc, chain, lines, caplog) -> None:
    with caplog.at_level(logging.DEBUG, "node.calls"):
        rpc("eth_blockNumber")
        rpc("eth_chainId")
        assert lines() == ["eth_blockNumber", "eth_chainId"]


@EMBEDDED
@pytest.mark.parametrize(
    ("method", "answer"), [("anvil_setLoggingEnabled", None), ("hardhat_setLoggingEnabled", True)]
)
def test_the_log_is_switched_off_and_on(rpc, chain, lines, method, answer) -> None:
    assert rpc(method, False) is answer
    chain.mine()
    rpc("eth_call", {"to": hexed(RECIPIENT)})
    assert [line for line in lines() if line != method] == []

    rpc(method, True)
    chain.mine()
    assert [item for item in lines() if item != method] != []


@EMBEDDED
@pytest.mark.parametrize("given", [(), (1,), ("true",), (None,)])
def test_the_switch_takes_true_and_false_alone(rpc, chain, log, given) -> None:
    with pytest.raises(JsonRpcError) as refusal:
        rpc("anvil_setLoggingEnabled", *given)

    assert refusal.value.code == -32602
    assert log.is_on


@pytest.mark.node_settings(log_transactions="off")
def test_disabled_transaction_log_writes_nothing(rpc, chain, lines, log) -> None:
    chain.do(to=TELLER, data=encoded("log(string)", "unheard"), gas=100_000, value=0)
    rpc("eth_call", {"to": hexed(RECIPIENT)})

    assert log.accepted not in chain.evm.on_accepted
    assert lines() == []


@EMBEDDED
@pytest.mark.node_settings(network_id=5)
def test_public_networks_have_neither_the_log_nor_its_switch(node_settings) -> None:
    node = this_node()

    assert not node.settings.logs_transactions
    assert "anvil_setLoggingEnabled" not in node.endpoints.cchain.dispatcher.registry
    assert "hardhat_setLoggingEnabled" not in node.endpoints.cchain.dispatcher.registry


def test_blocks_that_it_cannot_keep_up_with_are_counted(chain, caplog) -> None:
    log = TransactionLog(chain.evm, line=LogQueue(most=1))
    log.begin(in_thread=False)
    for _ in range(3):
        chain.do(to=RECIPIENT)
    log.work_off()

    first, second = entries(caplog)
    assert "\n  Block #1: " in first
    wanted = "Too many to show one by one: blocks #2 to #3 with 2 transactions and 42000 gas"
    assert second == wanted
    log.end()


def test_another_process_that_accepted_nothing_writes_nothing(chain, log, caplog) -> None:
    other = TransactionLog(another_process(chain.evm).chain)
    other.begin(in_thread=False)
    chain.mine()
    other.work_off()

    assert entries(caplog) == []
    log.work_off()
    assert len(entries(caplog)) == 1
    other.end()


@EMBEDDED
def test_a_block_that_is_dropped_is_reported_with_its_inside(rpc, chain, lines) -> None:
    number = rpc("evm_snapshot")
    chain.do(to=TELLER, data=encoded("log(string)", "still here"), gas=100_000, value=0)

    assert rpc("evm_revert", number) is True

    (told,) = (line for line in lines() if "Transaction:" in line)
    assert "  console.log:\n    still here" in told


def test_removed_block_is_logged_as_not_recorded(chain, lines, monkeypatch) -> None:
    chain.do(to=TELLER, data=encoded("log(string)", "x"), gas=100_000, value=0)
    monkeypatch.setattr("cchain_app.selectors.tracing.state_before_block", _gone)
    monkeypatch.setattr("cchain_app.selectors.blocks.by_hash", lambda _chain, _hash: None)

    (text,) = lines()
    assert "Not recorded:        the block could not be executed again (LookupError)" in text


def _gone(_chain: object, _number: int) -> None:
    raise LookupError


def test_a_thread_writes_it_and_the_end_waits_for_it(shared_chain, caplog) -> None:
    log = this_node().transaction_logs["C"]
    shared_chain.do(to=None, data=bytecode.deploy_code(bytecode.TELLER), gas=500_000, value=0)
    log.begin()
    told = encoded("log(address)", checksum_address(RECIPIENT))
    shared_chain.do(to=TELLER, data=told, gas=100_000, value=0)
    shared_chain.mine()
    log.end()

    first, second = entries(caplog)
    assert first.endswith(f"console.log:\n    {checksum_address(Address(RECIPIENT))}\n")
    assert second.startswith("Mined empty block #3")
    shared_chain.mine()
    assert len(entries(caplog)) == 2


def test_json_lines_have_the_members_of_an_entry(chain, log, caplog) -> None:
    sent, block = chain.do(to=TELLER, data=encoded("log(string)", "hi"), gas=100_000, value=0)
    log.work_off()

    (record,) = [item for item in caplog.records if item.name == "node.transactions"]
    shown = json.loads(json_formatter().format(record))
    assert shown.pop("timestamp").endswith("Z")
    assert shown == {
        "event": "transaction", "level": "info", "logger": "node.transactions", "hash": hexed(sent.hash),
        "from": checksum_address(SENDER), "to": checksum_address(TELLER), "contract": None,
        "method": "0x41304fac", "value": "0", "gas_used": block.receipts[0].cumulative_gas_used,
        "gas_limit": 100_000, "block": 4, "block_hash": hexed(block.hash), "succeeded": True,
        "console": ["hi"],
    }  # fmt: skip
