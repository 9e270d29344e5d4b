"""Makes a chain old: thousands of blocks with a few logs in between, and tens of thousands of accounts."""

import time
from dataclasses import dataclass

from benchmarks.contracts import call_data, transfer
from benchmarks.rpc import body
from benchmarks.scene import Scene
from benchmarks.signing import account, hash_of, sign

NEEDLES = 10
"""Logs of the sparse query, spread over the blocks."""
ROUND = 20
"""Transactions after which the run checks that they are mined."""
ACCOUNTS_AT_ONCE = 400
"""Accounts that one transaction can fund, at about 37,000 gas each."""
FIRST_ACCOUNT = 0xACC0 << 128


@dataclass(frozen=True, slots=True)
class GrowthResult:
    """How far a chain came in the given time."""

    reached: int
    wanted: int
    what: str

    @property
    def note(self) -> str:
        """Note for a result that was measured on a smaller chain."""
        return (
            ""
            if self.reached >= self.wanted
            else f"at {self.reached:,} of {self.wanted:,} {self.what}"
        )


def prepare(scene: Scene) -> None:
    """Fund the account that fills the blocks, and give it tokens."""
    filler = account("filler")
    scene.fund([filler])
    mint = call_data("mint(uint256)", 10**18)
    scene.client.mine(sign(filler, 0, scene.contract("Token"), data=mint, gas=150_000))


def grow_blocks(scene: Scene) -> GrowthResult:
    """Grow the chain to the wanted height, once; alternate transfers and token transfers."""
    if "height" not in scene.facts:
        scene.facts["height"] = _grow_blocks(scene)
    grown: GrowthResult = scene.facts["height"]
    return grown


def grow_accounts(scene: Scene) -> GrowthResult:
    """Create the wanted number of accounts on the chain, once."""
    if "accounts" not in scene.facts:
        scene.facts["accounts"] = _grow_accounts(scene)
    grown: GrowthResult = scene.facts["accounts"]
    return grown


def _grow_blocks(scene: Scene) -> GrowthResult:
    deadline = time.perf_counter() + scene.scale.growth_seconds
    wanted, height, emitted = scene.scale.blocks, scene.client.height(), 0
    emit = call_data("emitLogs(uint256)", 1)
    nonce = 1
    while height < wanted and time.perf_counter() < deadline:
        if height >= emitted * wanted // NEEDLES:
            scene.from_funder(scene.contract("Emitter"), data=emit)
            emitted += 1
        raws = [_filling(scene, number) for number in range(nonce, nonce + ROUND)]
        for raw in raws:
            scene.client.ask_raw(body("eth_sendRawTransaction", raw))
        scene.client.receipt(hash_of(raws[-1]))
        nonce += ROUND
        height = scene.client.height()
    for _ in range(emitted, NEEDLES):
        scene.from_funder(scene.contract("Emitter"), data=emit)
    return GrowthResult(scene.client.height(), wanted, "blocks")


def _filling(scene: Scene, nonce: int) -> str:
    filler, recipient = account("filler"), _address(nonce)
    if nonce % 2:
        return sign(filler, nonce, recipient, value=1)
    return sign(filler, nonce, scene.contract("Token"), data=transfer(recipient, 1), gas=80_000)


def _grow_accounts(scene: Scene) -> GrowthResult:
    deadline = time.perf_counter() + scene.scale.growth_seconds
    made, wanted = 0, scene.scale.accounts
    while made < wanted and time.perf_counter() < deadline:
        data = call_data("fill(uint160,uint256)", FIRST_ACCOUNT + made, ACCOUNTS_AT_ONCE)
        scene.from_funder(scene.contract("Disperser"), value=ACCOUNTS_AT_ONCE, data=data)
        made += ACCOUNTS_AT_ONCE
    return GrowthResult(made, wanted, "accounts")


def _address(number: int) -> bytes:
    return bytes((0xB10C << 128 | number).to_bytes(20, "big"))
