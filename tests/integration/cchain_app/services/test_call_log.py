"""The transaction log: entries of calls, estimates and methods."""

import asyncio
import json
import logging

import pytest

from cchain_app.api import loop_gas
from cchain_app.transaction_log.declarations import Declaration, KnownSignatures
from jsonrpc.dispatch.dispatcher import MISS
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from nodeproject.startup.log_format import json_formatter
from primitives.hexadecimal import checksum_address
from tests.builders import bytecode
from tests.builders.bytecode import words
from tests.builders.hot_dispatcher import hot_dispatcher
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.cchain_app.services.transaction_logs import (
    FOURTH,
    PASSING_ON,
    PROXY,
    REVERTER,
    TELLER,
    encoded,
    hexed,
    reverting,
)

EMBEDDED = pytest.mark.node_settings(profile="embedded")


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


def test_a_call_that_is_sent_on_to_a_thread_is_reported_there_alone(
    chain, lines, monkeypatch
) -> None:
    # Limit the call by gas alone: a busy machine loses milliseconds during which it does not run.
    monkeypatch.setattr(loop_gas, "SECONDS_OF_REQUEST", 60.0)
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
