"""The development chain rows measure a chain that really reverts, and reject one that only claims to."""

from typing import Any

import pytest

from benchmarks.rpc import WrongAnswer
from benchmarks.signing import CHAIN_ID, hash_of
from benchmarks.workloads_devnet import TRANSFERS, time_mining, time_snapshots, time_suite
from cchain_app.txs.codec import decode_transaction

TOKEN = bytes(range(20))


class Chain:
    """A chain in memory with all that these rows query: blocks, nonces, and a token balance."""

    def __init__(self, **faults: bool) -> None:
        self.blocks = 0
        self.sent: dict[str, int] = {}
        self.tokens = 0
        self.snapshots: list[tuple[int, dict[str, int], int]] = []
        self.calls: list[str] = []
        self.faults = faults

    def height(self) -> int:
        return self.blocks

    def mine(self, raw: str) -> Any:
        self.calls.append("mine")
        return self.call("eth_sendRawTransaction", raw)

    def receipt(self, _transaction_hash: str) -> Any:
        return {"status": "0x1"}

    def call(self, method: str, *params: Any) -> Any:
        self.calls.append(method)
        match method:
            case "evm_mine":
                self.blocks += 0 if self.faults.get("mines_nothing") else 1
                return "0x0"
            case "evm_snapshot":
                self.snapshots.append((self.blocks, dict(self.sent), self.tokens))
                return hex(len(self.snapshots))
            case "evm_revert":
                return self._revert(int(params[0], 16))
            case "eth_sendRawTransaction":
                raw = bytes.fromhex(params[0][2:])
                sender = "0x" + decode_transaction(raw, CHAIN_ID).sender.hex()
                self.blocks += 1
                self.sent[sender] = self.sent.get(sender, 0) + 1
                self.tokens += 1
                return hash_of(params[0])
            case "eth_call":
                return hex(self.tokens)
            case _:
                assert method == "eth_getTransactionCount"
                return hex(self.sent.get(params[0], 0))

    def _revert(self, snapshot: int) -> bool:
        blocks, sent, tokens = self.snapshots[snapshot - 1]
        if self.faults.get("knows_no_snapshot"):
            return False
        self.blocks = self.blocks if self.faults.get("keeps_blocks") else blocks
        self.sent = self.sent if self.faults.get("keeps_nonces") else sent
        self.tokens = self.tokens if self.faults.get("keeps_state") else tokens
        return True


def test_snapshots_are_timed_around_a_transaction() -> None:
    chain = Chain()
    found = time_snapshots(chain, 5)  # type: ignore[arg-type]

    assert found.p50 is not None
    assert found.value == found.p50 * 1e3
    assert found.p99 is not None
    assert found.p99 >= found.p50 > 0
    assert chain.calls.count("evm_snapshot") == chain.calls.count("evm_revert") == 5
    assert chain.calls[:4] == ["evm_snapshot", "mine", "eth_sendRawTransaction", "evm_revert"]
    assert chain.blocks == 0


@pytest.mark.parametrize("fault", ["keeps_blocks", "keeps_nonces", "knows_no_snapshot"])
def test_chain_that_fails_to_revert_has_no_figure(fault: str) -> None:
    chain = Chain(**{fault: True})
    with pytest.raises(WrongAnswer, match="nonce" if fault == "keeps_nonces" else "in place of"):
        time_snapshots(chain, 5)  # type: ignore[arg-type]


def test_blocks_are_counted() -> None:
    chain = Chain()
    assert time_mining(chain, 50).value > 0  # type: ignore[arg-type]
    assert chain.blocks == 50


def test_a_chain_that_mines_nothing_has_no_figure() -> None:
    with pytest.raises(WrongAnswer, match="0 of 50 blocks"):
        time_mining(Chain(mines_nothing=True), 50)  # type: ignore[arg-type]


def test_each_test_of_the_suite_restarts() -> None:
    chain = Chain()
    assert time_suite(chain, 20, TOKEN).value > 0  # type: ignore[arg-type]
    assert chain.calls.count("eth_sendRawTransaction") == 20 * TRANSFERS
    assert (chain.blocks, chain.tokens, chain.sent) == (0, 0, {})


@pytest.mark.parametrize(
    ("fault", "words"), [("keeps_state", "found 6 tokens"), ("keeps_blocks", "at 3 in place of 0")]
)
def test_a_suite_whose_tests_see_each_other_has_no_figure(fault: str, words: str) -> None:
    with pytest.raises(WrongAnswer, match=words):
        time_suite(Chain(**{fault: True}), 20, TOKEN)  # type: ignore[arg-type]
