"""platform.getBalance."""

import pytest

from platform_app.config import UNIT
from platform_app.txs.base import BaseTx
from primitives.addresses import format_address
from primitives.ids import ShortID
from tests.builders.platform import ADDRESSES
from tests.integration.platform_app.conftest import EWOQ, PChain, Rpc, refusal

FIRST, SECOND, NOBODY = ADDRESSES[:3]


def text(address: ShortID, chain: str = "P", hrp: str = "local") -> str:
    return format_address(chain, hrp, address)


def test_the_record_of_the_specification(pchain: PChain, rpc: Rpc) -> None:
    balance = rpc("platform.getBalance", address=text(EWOQ))

    specified = ("balance", "unlocked", "lockedStakeable", "lockedNotStakeable")
    assert [balance[name] for name in specified] == ["30000000000000", "30000000000000", "0", "0"]
    coins = {(str(coin.tx_id), coin.output_index) for coin in pchain.coins()}
    assert {(item["txID"], item["outputIndex"]) for item in balance["utxoIDs"]} == coins
    assert len(coins) == 2


def test_amounts_of_each_asset_are_there_too(pchain: PChain, rpc: Rpc) -> None:
    balance = rpc("platform.getBalance", address=text(EWOQ))

    asset = str(pchain.asset_id)
    assert balance["balances"] == balance["unlockeds"] == {asset: "30000000000000"}
    assert balance["lockedStakeables"] == balance["lockedNotStakeables"] == {}


def test_the_maps_leave_out_assets_of_which_there_is_nothing(pchain: PChain, rpc: Rpc) -> None:
    later = pchain.now + 100
    pchain.do(pchain.make(BaseTx, pchain.output(UNIT, FIRST, locktime=later)))

    def maps() -> list[dict[str, str]]:
        balance = rpc("platform.getBalance", address=text(FIRST))
        names = ("balances", "unlockeds", "lockedStakeables", "lockedNotStakeables")
        return [balance[name] for name in names]

    amount = {str(pchain.asset_id): "1000000"}
    assert maps() == [amount, {}, {}, amount]
    pchain.now = later
    assert maps() == [amount, amount, {}, {}]


def test_locks_are_judged_by_the_nodes_clock(pchain: PChain, rpc: Rpc) -> None:
    later = pchain.now + 100
    pchain.do(
        pchain.make(
            BaseTx,
            pchain.output(5 * UNIT, FIRST),
            pchain.output(3 * UNIT, FIRST, locktime=later),
            pchain.output(2 * UNIT, FIRST, stakeable_until=later),
            pchain.output(UNIT, FIRST, stakeable_until=later, locktime=later),
        )
    )

    def amounts() -> list[str]:
        balance = rpc("platform.getBalance", addresses=[text(FIRST)])
        return [
            balance[name]
            for name in ("balance", "unlocked", "lockedStakeable", "lockedNotStakeable")
        ]

    assert amounts() == ["11000000", "5000000", "2000000", "4000000"]
    pchain.now = later
    assert amounts() == ["11000000", "11000000", "0", "0"]


def test_balance_without_addresses_is_zero(rpc: Rpc) -> None:
    empty = {
        "balance": "0", "unlocked": "0", "lockedStakeable": "0", "lockedNotStakeable": "0",
        "balances": {}, "unlockeds": {}, "lockedStakeables": {}, "lockedNotStakeables": {},
        "utxoIDs": [],
    }  # fmt: skip
    assert rpc("platform.getBalance", address=text(NOBODY)) == empty
    assert rpc("platform.getBalance") == empty
    assert rpc("platform.getBalance", addresses=None, address=None) == empty


def test_several_addresses_count_a_shared_output_once(pchain: PChain, rpc: Rpc) -> None:
    pchain.do(
        pchain.make(
            BaseTx,
            pchain.output(UNIT, FIRST, SECOND, threshold=2),
            pchain.output(2 * UNIT, SECOND),
        )
    )

    both = rpc("platform.getBalance", address=text(FIRST), addresses=[text(SECOND), text(FIRST)])
    assert (both["balance"], len(both["utxoIDs"])) == ("3000000", 2)
    assert rpc("platform.getBalance", address=text(FIRST))["balance"] == "1000000"


@pytest.mark.parametrize(
    "shown",
    [
        text(EWOQ, hrp="avax"),
        text(EWOQ, hrp="fuji"),
        text(EWOQ, chain="platform"),
        text(EWOQ, chain="11111111111111111111111111111111LpoYY"),
        str(EWOQ),
        "P-" + text(EWOQ)[2:].upper(),
    ],
)
def test_address_spellings_are_equivalent(rpc: Rpc, shown: str) -> None:
    assert rpc("platform.getBalance", address=shown)["balance"] == "30000000000000"


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        ("nonsense", "no separator found in address"),
        ("Z-" + text(EWOQ)[2:], "there is no ID with alias: Z"),
        ("P-x", "invalid bech32 string length 1"),
        (text(EWOQ)[:-1] + "v", "invalid checksum"),
        ("P-Local" + text(EWOQ)[7:], "string not all lowercase or all uppercase"),
    ],
)
def test_malformed_address_is_refused(rpc: Rpc, shown: str, reason: str) -> None:
    expected = f'couldn\'t parse address "{shown}": {reason}'
    assert refusal(rpc, "platform.getBalance", address=shown) == expected
    assert refusal(rpc, "platform.getBalance", addresses=[text(EWOQ), shown]) == expected


def test_an_address_of_another_chain(pchain: PChain, rpc: Rpc) -> None:
    shown = text(EWOQ, chain="X")
    assert refusal(rpc, "platform.getBalance", address=shown) == (
        f'couldn\'t parse address "{shown}": mismatched chainIDs: '
        f'expected "11111111111111111111111111111111LpoYY" but got "{pchain.network.x_chain_id}"'
    )


def test_too_many_addresses(rpc: Rpc) -> None:
    assert refusal(rpc, "platform.getBalance", addresses=["x"] * 1025) == (
        "number of addresses given, 1025, exceeds maximum, 1024"
    )
