"""A process that executes counting commands from its standard input, one per line, and confirms each.

`python -m tests.integration.health_app.metrics.counting ROLE DIRECTORY`
"""

import os
import signal
import sys
from pathlib import Path

import django


def main(role: str, directory: str) -> None:
    """Execute commands until the input ends."""
    django.setup()
    from health_app.metrics.process import ProcessMetrics
    from health_app.metrics.sharing import SharedProcesses

    process = ProcessMetrics()
    shared = SharedProcesses(process, Path(directory))
    shared.register(role)
    shared.start()
    for line in sys.stdin:
        command, *words = line.split()
        if command == "call":
            method, number, seconds = words
            for _ in range(int(number)):
                process.tally("C").observe(method, float(seconds), -32000 if method == "bad" else 0)
        elif command == "begin":
            process.inflight.begin("eth_call")
        elif command == "end":
            name = "celery_task_last_ended_timestamp_seconds"
            process.instruments.gauge(name, mode="max", task="tick").set(float(words[0]))
        elif command == "listen":
            process.instruments.gauge("websocket_subscriptions", kind="logs").set(1)
        elif command == "fork":
            process.tally("C").observe("eth_chainId", 0.5)  # not yet written to the file
            child = os.fork()
            if child == 0:
                process.tally("C").observe("eth_chainId", 0.5)
                shared.start()
                shared.update()
                os._exit(0)
            os.waitpid(child, 0)
        elif command == "child":  # it runs until it is killed
            begun, begins = os.pipe()
            if os.fork() == 0:
                os.write(begins, b".")
                signal.pause()
            os.read(begun, 1)
        shared.update()
        print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
