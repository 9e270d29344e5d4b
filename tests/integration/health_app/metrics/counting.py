"""A process that counts what it is told on its standard input, a line at a time, and says when it has.

`python -m tests.integration.health_app.metrics.counting ROLE`
"""

import os
import sys

import django


def main(role: str) -> None:
    """Obey until the input ends."""
    django.setup()
    from health_app.metrics import SOURCES, shared

    shared.start(role)
    for line in sys.stdin:
        command, *words = line.split()
        if command == "call":
            method, number, seconds = words
            for _ in range(int(number)):
                SOURCES.tally("C").observe(method, float(seconds), -32000 if method == "bad" else 0)
        elif command == "begin":
            SOURCES.inflight.begin("eth_call")
        elif command == "end":
            SOURCES.tasks.last_ended["tick"] = float(words[0])
        elif command == "fork":
            child = os.fork()
            if child == 0:
                SOURCES.tally("C").observe("eth_chainId", 0.5)
                shared.start("worker")
                shared.write()
                os._exit(0)
            os.waitpid(child, 0)
        shared.write()
        print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
