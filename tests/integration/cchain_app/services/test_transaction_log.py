"""The transaction log: entries of accepted blocks, and cases without any."""

import json

import pytest

from cchain_app.services.transaction_log import RECORDING, TransactionLog
from cchain_app.transaction_log.waiting import LogQueue
from nodeproject.apps import this_node
from nodeproject.startup.log_format import json_formatter
from primitives.evm import Address
from primitives.hexadecimal import checksum_address
from tests.builders import bytecode
from tests.builders.evm_chains import another_process
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.cchain_app.services.transaction_logs import (
    REVERTER,
    TELLER,
    encoded,
    entries,
    hexed,
    reverting,
)

EMBEDDED = pytest.mark.node_settings(profile="embedded")


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
