"""Log entries, compared character by character."""

import pytest

from cchain_app.transaction_log.declarations import KnownSignatures
from cchain_app.transaction_log.entries import (
    NOTHING,
    CallEntry,
    EmptyBlockEntry,
    ExecutionDetails,
    SummaryEntry,
    entries_of,
    recorded,
    shown_messages,
    to_record,
)
from cchain_app.transaction_log.reasons import FailureText
from cchain_app.transaction_log.text import RED, coins, write
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.printable import COLOUR, PLAIN
from tests.builders.accepted import accepted
from tests.builders.traces import frame
from tests.builders.transactions import signed
from tests.unit.cchain_app.transaction_log.test_console import CONSOLE, called

TOKEN = Address(b"\x22" * 20)
KNOWN = KnownSignatures.load()
CALL = keccak256(b"transfer(address,uint256)")[:4] + bytes(64)


def written(block, *inside: ExecutionDetails) -> list[str]:
    """Return the block's entries without colours."""
    texts = [write(entry, "ICE").text for entry in entries_of(block, inside, KNOWN)]
    return [COLOUR.sub("", text) for text in texts]


def test_transfer_entry_has_sender_recipient_and_value() -> None:
    transfer = signed(value=15 * 10**17)
    block = accepted(5, [transfer])

    assert written(block, NOTHING) == [
        f"""\
  Transaction:         0x{transfer.hash.hex()}
  From:                0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC
  To:                  0x1111111111111111111111111111111111111111
  Value:               1.5 ICE
  Gas used:            21000 of 21000
  Block #5:            0x{block.hash.hex()}
"""
    ]


def test_failure_entry_has_reason_place_and_console_output() -> None:
    call = signed(to=TOKEN, data=CALL, value=0, gas=100_000)
    block = accepted(6, [call], failed=[0])
    inside = ExecutionDetails(
        FailureText("reverted with reason string 'not\ntoday'", "CALL 0xab 0x01020304"),
        ("one\r\ntwo", ""),
    )

    assert written(block, inside) == [
        f"""\
  Method:              transfer(address,uint256)
  Transaction:         0x{call.hash.hex()}
  From:                0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC
  To:                  0x2222222222222222222222222222222222222222
  Value:               0 ICE
  Gas used:            21000 of 100000
  Block #6:            0x{block.hash.hex()}
  Error:               reverted with reason string 'not
    today'
  Failed in:           CALL 0xab 0x01020304

  console.log:
    one
    two

"""
    ]


def test_a_creation_names_its_contract() -> None:
    create = signed(to=None, data=b"\x00", value=0, gas=60_000, nonce=0)
    block = accepted(7, [create])

    (text,) = written(block, ExecutionDetails(missing="it took too long"))
    assert text.startswith(
        "  Contract created:    0x52C84043CD9c865236f11d9Fc9F56aa003c1f922\n  Transaction:         0x"
    )
    assert "\n  To:" not in text
    assert "\n  Not recorded:        it took too long\n" in text


def test_each_transaction_has_an_entry_and_the_gas_of_its_own() -> None:
    block = accepted(8, [signed(nonce=0), signed(nonce=1)])

    texts = written(block, NOTHING, NOTHING)
    assert ["Gas used:            21000 of 21000" in text for text in texts] == [True, True]


def test_an_empty_block_is_one_line() -> None:
    block = accepted(9)

    assert written(block) == ["Mined empty block #9 with base fee 1000000000"]
    text = write(EmptyBlockEntry(9, block.hash, None), "ICE").text
    assert text == "Mined empty block #9"


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (
            SummaryEntry(5, 9, 400, 8_400_000, 0),
            "Too many to show one by one: blocks #5 to #9 with 400 transactions and 8400000 gas",
        ),
        (
            SummaryEntry(5, 5, 1, 21_000, 2),
            "Too many to show one by one: block #5 with 1 transaction and 21000 gas, 2 calls",
        ),
        (SummaryEntry(None, None, 0, 0, 1), "Too many to show one by one: 1 call"),
        (CallEntry("eth_call"), "eth_call"),
        (CallEntry("eth_call", 3), "eth_call (3 times)"),
        (CallEntry("eth_nosuch", exists=False), "eth_nosuch: no such method"),
        (CallEntry("eth_x\x1b[2J\ny", exists=False), '"eth_x\\x1b[2J\\ny": no such method'),
        (
            CallEntry("2026-11-28 23:59:59,999 ERROR   x  forged", exists=False),
            '"2026-11-28 23:59:59,999 ERROR   x  forged": no such method',
        ),
        (CallEntry("eth_call", messages=("a", "b")), "eth_call\n\n  console.log:\n    a\n    b"),
        (
            CallEntry("eth_call", missing="console.log, since x"),
            "eth_call\n  Not recorded:        console.log, since x",
        ),
    ],
)
def test_other_entries(entry, text) -> None:
    assert COLOUR.sub("", write(entry, "ICE").text) == text


def test_a_failed_transaction_as_members() -> None:
    call = signed(to=TOKEN, data=CALL, value=1, gas=100_000)
    block = accepted(6, [call], failed=[0])
    inside = ExecutionDetails(FailureText("out of gas", None), ("one",))

    (entry,) = entries_of(block, [inside], KNOWN)
    assert write(entry, "ICE").fields == {
        "event": "transaction",
        "hash": f"0x{call.hash.hex()}",
        "from": "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC",
        "to": "0x2222222222222222222222222222222222222222",
        "contract": None,
        "method": "transfer(address,uint256)",
        "value": "0.000000000000000001",
        "gas_used": 21000,
        "gas_limit": 100_000,
        "block": 6,
        "block_hash": f"0x{block.hash.hex()}",
        "succeeded": False,
        "error": "out of gas",
        "failed_in": None,
        "console": ["one"],
    }


@pytest.mark.parametrize(
    ("wei", "text"),
    [(0, "0"), (1, "0.000000000000000001"), (10**18, "1"), (25 * 10**17, "2.5"), (10**30, "1000000000000")],
)  # fmt: skip
def test_amounts_are_exact(wei, text) -> None:
    assert coins(wei) == text


def test_a_colour_of_a_contract_ends_with_its_line() -> None:
    call = signed(to=TOKEN, data=CALL, value=0, gas=100_000)
    block = accepted(6, [call], failed=[0])
    inside = ExecutionDetails(
        FailureText("one\n\x1b[32mtwo", None), ("\x1b[8mhidden\nnext", "\x1b[32mok\x1b[0m")
    )

    (entry,) = entries_of(block, [inside], KNOWN)
    text = write(entry, "ICE").text

    assert f"{RED}one{PLAIN}\n    {RED}\x1b[32mtwo{PLAIN}\n" in text
    assert f"    \x1b[8mhidden{PLAIN}\n    next\n    \x1b[32mok\x1b[0m\n" in text


def test_foreign_names_are_escaped_to_one_line() -> None:
    call = signed(to=TOKEN, data=CALL, value=0, gas=100_000)
    inside = ExecutionDetails(FailureText("failed", "CALL a\u202eb\nc"))

    (text,) = written(accepted(6, [call], failed=[0]), inside)

    assert "\n  Failed in:           CALL a\\u202eb\\nc\n" in text


def test_plain_transfers_are_not_recorded() -> None:
    block = accepted(
        1, [signed(nonce=0), signed(nonce=1, data=b"\x01"), signed(nonce=2), signed(nonce=3)], failed=[2]
    )  # fmt: skip

    assert to_record(block) == range(1, 3)
    assert to_record(accepted(1, [signed()])) == range(0)
    assert to_record(accepted(1, [signed(to=None)])) == range(1)


def test_messages_end_where_a_log_takes_no_more() -> None:
    frames = [
        frame(),
        *(frame(1, to=CONSOLE, input=called("log(string)", "a" * 40_000)) for _ in range(3)),
    ]

    assert shown_messages(frames) == (
        "a" * 40_000, "a" * 25_535 + "…", "(more than a log can take)",
    )  # fmt: skip
    assert recorded(frames, KNOWN).messages == shown_messages(frames)
