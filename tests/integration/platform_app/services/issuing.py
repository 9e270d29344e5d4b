"""Run as a process of its own: issues transactions one by one and makes blocks between them.

It reads transactions as hex, one per line, up to an empty line, prints `ready`, and starts after one more line of
input. For each transaction it prints `taken`, or the class name of the error. The argument is the current time.
"""

import sys

import django

from platform_app.apps import platform_chain, platform_runtime


def main(now: int) -> None:
    """Read, issue and report the transactions."""
    from platform_app.services import mempool
    from platform_app.txs.codec import parse

    platform_chain().producer.request = lambda: None  # type: ignore[method-assign]
    txs = [parse(bytes.fromhex(line)) for line in iter(sys.stdin.readline, "\n")]
    print("ready", flush=True)
    sys.stdin.readline()
    for number, tx in enumerate(txs):
        (outcome,) = mempool.issue(platform_chain(), [tx], now=now)
        refused = isinstance(outcome, Exception)
        print(type(outcome).__name__ if refused else "taken", flush=True)
        if number % 3 == 0:
            platform_runtime().consensus.produce(now=now)


if __name__ == "__main__":
    django.setup()
    main(int(sys.argv[1]))
