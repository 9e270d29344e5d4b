"""SDKs from npm on the X-Chain, and coins that they move over all three chains of the running node."""

import pytest

from tests.e2e.checked import CheckedNode
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_sdk import FEES, JS4, JS5, OLD, Sdk
from tests.e2e.platform_wallet import UNIT, address, fund, new_keys

WEI = 10**12
"""Wei of one unit on this network."""
FEE = FEES["baseTxFee"]
EVM_GAS = 11_230
"""Gas of one signature and one output on the C-Chain."""
OLD_FEE = UNIT
"""What the package avalanche 3.16 pays for a transaction: the fee of its own table for network 12345."""
OLD_ASSET_FEE = 10 * UNIT
"""What it pays to create an asset."""


def sdk(library: str, node: CheckedNode) -> Sdk:
    """Return an SDK with a new key that owns 500 coins on the P-Chain."""
    (key,) = new_keys(1)
    fund(node, [(key, 500 * UNIT)])
    return Sdk(library, node, key)


@pytest.mark.parametrize("library", [JS5, JS4])
def test_coins_go_over_all_three_chains_and_back(node: CheckedNode, library: str) -> None:
    (receiver,) = new_keys(1)
    arriving, paid, over, back, home = 9 * UNIT, UNIT + 1, 5 * UNIT, 2 * UNIT, 3 * UNIT

    found = sdk(library, node).run(
        "exchanged",
        toX=arriving,
        paid=paid,
        receiver=address(receiver, "X"),
        toC=over,
        backToX=back,
        backToP=home,
    )

    # P to X, a payment, X to C, C to X, X to P
    assert found["statuses"] == [
        "Committed", "Accepted", "Accepted", "Accepted", "Accepted", "Accepted", "Accepted", "Accepted", "Committed",
    ]  # fmt: skip
    assert found["readBack"] == [True] * 5
    assert found["early"] == [0] * 4 * 3
    balances = {name: int(amount) for name, amount in found["balances"].items()}
    landed = balances.pop("landed")
    imported = arriving - FEE
    left = imported - paid - over - 2 * FEE
    evm_fee = EVM_GAS * found["price"]
    assert balances == {
        "imported": imported,
        "paid": imported - paid - FEE,
        "receiver": paid,
        "left": left,
        "onC": (over - evm_fee) * WEI,
        "leftOnC": (over - back - 2 * evm_fee) * WEI,
        "returned": left + back - FEE,
        "end": left + back - home - 2 * FEE,
    }
    with PlatformClient(node.port) as client:
        assert home - landed == client.burned(found["landedBy"]) > 0


def test_the_oldest_sdk_moves_coins_over_all_three_chains(node: CheckedNode) -> None:
    arriving, over, back, home = 60 * UNIT, 20 * UNIT, 10 * UNIT, 15 * UNIT

    found = sdk(f"{OLD}_exchange", node).run(
        "exchanged", arriving=arriving, toC=over, backToX=back, backToP=home
    )

    amounts = {name: int(amount) for name, amount in found.items()}
    imports, exports = amounts.pop("importFee"), amounts.pop("exportFee")
    assert (imports, exports) == (EVM_GAS, EVM_GAS)
    left = arriving - over - 2 * OLD_FEE
    assert amounts == {
        "imported": arriving - OLD_FEE,
        "left": left,
        "onC": (over - imports) * WEI,
        "leftOnC": (over - imports - back - exports) * WEI,
        "returned": left + back - OLD_FEE,
        "end": left + back - home - 2 * OLD_FEE,
        "landed": home - OLD_FEE,
    }


def test_the_oldest_sdk_creates_mints_and_moves_assets(node: CheckedNode) -> None:
    (receiver,) = new_keys(1)
    arriving, paid = 60 * UNIT, 3 * UNIT

    found = sdk(f"{OLD}_exchange", node).run(
        "assets",
        arriving=arriving,
        paid=paid,
        receiver=address(receiver, "X"),
        memo="for the picture",
        held=507,
        minted=54_321,
        payload="ipfs://picture",
    )

    assert found == {
        "imported": str(arriving - OLD_FEE),
        "memo": "0x" + b"for the picture".hex(),
        "paid": str(paid),
        "left": str(arriving - paid - 2 * OLD_FEE),
        "coin": {"name": "Legacy coin", "symbol": "LEGC", "denomination": 4},
        "held": "507",
        "afterMint": str(507 + 54_321),
        "payload": "ipfs://picture",
        "pieces": [True],
        "end": str(arriving - paid - 5 * OLD_FEE - 2 * OLD_ASSET_FEE),
    }
