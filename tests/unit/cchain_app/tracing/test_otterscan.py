"""Otterscan's list of calls, and the value transfers inside a transaction."""

from cchain_app.tracing.otterscan import calls, operations
from tests.builders.traces import CALLEE, CALLER, OTHER, PRECOMPILE, frame, selfdestruct


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def test_calls_are_flat_and_know_their_depth():
    listed = list(calls([frame(value=3), frame(1), frame(2, type="CREATE", to=OTHER)]))

    assert listed[0] == {
        "type": "CALL", "depth": 0, "from": hexed(CALLER), "to": hexed(CALLEE), "value": "0x3",
        "input": "0x0102", "output": "0x03",
    }  # fmt: skip
    assert [(item["depth"], item["type"]) for item in listed] == [
        (0, "CALL"),
        (1, "CALL"),
        (2, "CREATE"),
    ]


def test_calls_that_cannot_move_value_have_none():
    values = [
        call["value"]
        for call in calls(
            [frame(type=kind, value=9) for kind in ("DELEGATECALL", "STATICCALL", "CALLCODE")]
        )
    ]

    assert values == [None, None, "0x9"]


def test_precompile_calls_below_the_top_are_omitted():
    called = frame(1, to=PRECOMPILE, precompile=True)

    assert [call["depth"] for call in calls([frame(), called])] == [0]
    assert len(list(calls([called._replace(depth=0)]))) == 1


def test_a_selfdestruct_has_no_output():
    _, shown = calls([frame(), selfdestruct(1)])

    assert shown == {
        "type": "SELFDESTRUCT", "depth": 1, "from": hexed(CALLEE), "to": hexed(OTHER),
        "value": "0xc", "input": "0x",
    }  # fmt: skip


def test_operations_are_value_transfers_and_creations():
    listed = list(
        operations(
            [
                frame(value=1),
                frame(1, value=2),
                frame(1),
                frame(1, type="CALLCODE", value=3),
                frame(1, type="DELEGATECALL", value=3),
                frame(1, type="CREATE", to=OTHER),
                frame(1, type="CREATE2", to=OTHER, value=4),
                selfdestruct(2),
            ]
        )
    )

    assert [(item["type"], item["value"]) for item in listed] == [
        (0, "0x2"), (2, "0x0"), (3, "0x4"), (1, "0xc"),
    ]  # fmt: skip
    assert (listed[0]["from"], listed[0]["to"]) == (hexed(CALLER), hexed(CALLEE))


def test_operations_that_were_undone_are_listed():
    undone = frame(1, value=2, error="execution reverted")

    assert len(list(operations([frame(), undone]))) == 1


def test_creation_without_address_is_not_an_operation():
    assert not list(operations([frame(), frame(1, type="CREATE", to=None, value=2)]))
