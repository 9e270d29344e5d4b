"""The blocks beside the reads of web machines: they are made, or the row fails."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import workloads_machines
from benchmarks.rpc import NotMined, RpcFailed

SENT = 5
"""Transfers after which the reads are over."""


class Chain:
    """A node's head and nonce, and the transfers that it got."""

    def __init__(self, *, mines: bool = True, refuses: bool = False) -> None:
        self._mines, self._refuses = mines, refuses
        self.nonce = 3
        self.sent: list[object] = []
        self.ended = threading.Event()
        """Set when the reads may end."""

    def height(self) -> int:
        return self.nonce if self._mines else 0

    def call(self, method: str, *params: object) -> str | None:
        if method == "eth_getTransactionCount":
            return hex(self.nonce)
        assert method == "eth_sendRawTransaction"
        if self._refuses:
            self.ended.set()
            raise RpcFailed("eth_sendRawTransaction: refused")
        self.sent += params
        self.nonce += 1
        if len(self.sent) == SENT:
            self.ended.set()
        return None

    def close(self) -> None:
        pass


def read_beside_blocks(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a body that ends when the chain has got some transfers, or has refused one."""
    monkeypatch.setattr(workloads_machines, "PAUSE", 0)
    monkeypatch.setattr(workloads_machines, "Client", lambda _http: chain)
    monkeypatch.setattr(workloads_machines, "sign", lambda _who, nonce, _to, value: (nonce, value))
    scene: Any = SimpleNamespace(client=chain, http=None)
    with workloads_machines._blocks(scene):
        assert chain.ended.wait(30)


def test_transfers_follow_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = Chain()
    read_beside_blocks(chain, monkeypatch)
    assert chain.sent[:SENT] == [(nonce, 1) for nonce in range(3, 3 + SENT)]


def test_reads_without_blocks_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotMined, match=r"0 blocks were made of \d+ transfers"):
        read_beside_blocks(Chain(mines=False), monkeypatch)


def test_reads_fail_if_a_transfer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RpcFailed, match="refused"):
        read_beside_blocks(Chain(refuses=True), monkeypatch)
