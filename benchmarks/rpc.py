"""JSON-RPC bodies, and a client for set-up and checks (never for measured loops)."""

import json
import socket
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Any

from benchmarks.exchanges import exchange
from benchmarks.signing import hash_of
from benchmarks.wire import Endpoint, Framing, Pages

IDLE = 1.0
"""Seconds after which an idle connection is not reused, because servers close idle connections."""

NUDGE = 0.5
"""Seconds after which a server is asked to mine the transactions that it has accepted."""


class RpcFailed(Exception):
    """A server answered with an error."""


class WrongAnswer(Exception):
    """A server answered, but not as the workload expects."""


class NotMined(Exception):
    """An accepted transaction got no receipt in time."""


def body(method: str, *params: object) -> bytes:
    """Return the body of one call."""
    return json.dumps(_call(method, params)).encode()


def named(method: str, **params: object) -> bytes:
    """Return the body of one call with named params."""
    return json.dumps({**_call(method, ()), "params": params}).encode()


def batch(method: str, argument_lists: Sequence[Sequence[object]]) -> bytes:
    """Return the body of a batch of calls of one method."""
    calls = [_call(method, params, number) for number, params in enumerate(argument_lists)]
    return json.dumps(calls).encode()


def _call(method: str, params: Sequence[object], number: int = 1) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}


class Client:
    """One HTTP connection with sequential calls.

    Args:
        framing: How calls are framed.
        patience: Timeout in seconds for each read, which raises TimeoutError; None: no timeout.
    """

    def __init__(self, framing: Framing, *, patience: float | None = None) -> None:
        self._framing = framing
        self._patience = patience
        self._connection = self._connect()
        self._used = time.perf_counter()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _connect(self) -> socket.socket:
        connection = self._framing.connect()
        connection.settimeout(self._patience)
        return connection

    def ask(self, request: bytes) -> Any:
        """Return the parsed answer to a request."""
        return json.loads(self.ask_raw(request))

    def ask_raw(self, request: bytes) -> bytes:
        """Return the raw answer to a request."""
        if time.perf_counter() - self._used > IDLE:
            self._connection.close()
            self._connection = self._connect()
        answer = exchange(self._framing, self._connection, request)
        self._used = time.perf_counter()
        return answer

    def call(self, method: str, *params: object) -> Any:
        """Return the result of a call.

        Raises:
            RpcFailed: The answer is an error.
        """
        return self._result(method, body(method, *params))

    def call_named(self, method: str, **params: object) -> Any:
        """Return the result of a call with named params.

        Raises:
            RpcFailed: The answer is an error.
        """
        return self._result(method, named(method, **params))

    def call_many(self, method: str, argument_lists: Sequence[Sequence[object]]) -> list[Any]:
        """Return the results of a batch, in the order of the calls.

        Raises:
            RpcFailed: One of the answers is an error.
        """
        answers = self.ask(batch(method, argument_lists))
        for answer in answers:
            if "error" in answer:
                raise RpcFailed(f"{method}: {answer['error']}")
        return [answer["result"] for answer in sorted(answers, key=lambda answer: answer["id"])]

    def supports(self, method: str, *params: object) -> bool:
        """Call a method that a server may not have; return whether the call succeeded."""
        with suppress(RpcFailed):
            self.call(method, *params)
            return True
        return False

    def mine(self, raw: str, patience: float = 20.0) -> Any:
        """Send a signed transaction and return its receipt.

        Raises:
            WrongAnswer: The transaction failed.
        """
        self.call("eth_sendRawTransaction", raw)
        receipt = self.receipt(hash_of(raw), patience)
        if receipt["status"] != "0x1":
            raise WrongAnswer(f"the transaction failed: {receipt}")
        return receipt

    def receipt(self, transaction_hash: str, patience: float = 20.0) -> Any:
        """Return a receipt as soon as it is available.

        If the transaction stays pending for NUDGE seconds, the server is asked to mine: Anvil
        sometimes forgets a transaction that it has accepted.

        Raises:
            NotMined: There was no receipt in time.
        """
        question = body("eth_getTransactionReceipt", transaction_hash)
        started = time.perf_counter()
        nudge = started + NUDGE
        while (now := time.perf_counter()) < started + patience:
            receipt = self.ask(question).get("result")
            if receipt is not None:
                return receipt
            if now > nudge:
                self.supports("evm_mine")
                nudge = now + NUDGE
            time.sleep(0.0003)
        raise NotMined(f"no receipt of {transaction_hash} after {patience:.0f} s")

    def height(self) -> int:
        """Return the number of the head."""
        return int(self.call("eth_blockNumber"), 16)

    def _result(self, method: str, request: bytes) -> Any:
        answer = self.ask(request)
        if "error" in answer:
            raise RpcFailed(f"{method}: {answer['error']}")
        return answer["result"]


def page(endpoint: Endpoint, path: str, patience: float = 60.0) -> str:
    """Fetch a page of a server over its own connection; raise TimeoutError after `patience` seconds."""
    with closing(Client(Pages(endpoint), patience=patience)) as client:
        return client.ask_raw(path.encode()).decode()
