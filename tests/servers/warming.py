"""`python -m tests.servers.warming DESCRIPTOR`: the process that forks for `tests.servers.warm`.

It has one thread, and imports nothing that reads settings or opens a file, socket or selector.
"""

import contextlib
import ctypes
import gc
import json
import os
import random
import runpy
import selectors
import signal
import socket
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.core.exceptions import AppRegistryNotReady, ImproperlyConfigured

ROOT = Path(__file__).resolve().parents[2]

PACKAGES: Final = (
    "adminkit", "cchain_app", "chaindb", "chainvm", "explorer_app", "health_app", "info_app", "jsonrpc", "network_app",
    "platform_app", "primitives", "shared_app", "utxo",
)  # fmt: skip
"""All packages but `nodeproject`, which reads settings."""
ZONES: Final = tuple(map(ZoneInfo, sorted(available_timezones())))
"""All time zones: a model of celery-beat loads each of them, and cached ones are not read again."""

_PR_SET_PDEATHSIG: Final = 1
_LARGEST: Final = 200_000
"""Most bytes of a request: an environment and arguments."""


def import_all() -> None:
    """Import the modules that need no settings, with their dependencies; forks import the rest."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            *folders, name = path.relative_to(ROOT).with_suffix("").parts
            if {"migrations", "management"} & {*folders}:
                continue
            with contextlib.suppress(ImproperlyConfigured, AppRegistryNotReady):
                import_module(".".join([*folders, *([name] if name != "__init__" else [])]))


class Forks:
    """The forked processes, with the sockets that receive their exit codes.

    Args:
        requests_socket: The socket for requests.
    """

    def __init__(self, requests_socket: socket.socket) -> None:
        self._socket = requests_socket
        self._selector = selectors.DefaultSelector()
        self._selector.register(requests_socket, selectors.EVENT_READ)
        self._living: dict[int, tuple[int, socket.socket]] = {}
        """Process ID and socket for the exit code, by the process's descriptor."""

    def serve(self) -> list[str] | None:
        """Fork for each request until the socket for requests is closed.

        Returns:
            In a fork, the arguments of its command; else None.
        """
        while True:
            for key, _ in self._selector.select():
                if key.fd in self._living:
                    self._tell_end(key.fd)
                    continue
                request, fds, _, _ = socket.recv_fds(self._socket, _LARGEST, 2)
                if not request:
                    return None
                told, output = socket.socket(fileno=fds[0]), fds[1]
                pid = os.fork()
                if pid == 0:
                    self._forget()
                    asked = json.loads(request)
                    become(asked["env"], asked["cwd"], output)
                    with told:
                        told.send(str(os.getpid()).encode())
                    return list(asked["arguments"])
                os.close(output)
                self._watch(pid, told)

    def _watch(self, pid: int, told: socket.socket) -> None:
        descriptor = os.pidfd_open(pid)
        self._living[descriptor] = pid, told
        self._selector.register(descriptor, selectors.EVENT_READ)

    def _tell_end(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        os.close(descriptor)
        pid, told = self._living.pop(descriptor)
        _, status = os.waitpid(pid, 0)
        with told, contextlib.suppress(BrokenPipeError):  # the receiver has closed its socket
            told.send(str(os.waitstatus_to_exitcode(status)).encode())

    def _forget(self) -> None:
        """Close the descriptors of the parent process in a fork."""
        self._selector.close()
        self._socket.close()
        for descriptor, (_, told) in self._living.items():
            os.close(descriptor)
            told.close()


def become(env: dict[str, str], cwd: str, output: int) -> None:
    """Give this fork the attributes of a new process: session, standard streams, environment, random seed."""
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for given, stream in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(given, stream)
    os.close(nothing)
    os.close(output)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through=True)  # as with PYTHONUNBUFFERED
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    random.seed()
    gc.unfreeze()


def run(arguments: list[str]) -> Any:
    """Run a command as the interpreter does: a script, or a module after `-m`."""
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        return runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    sys.argv = arguments
    return runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    import_all()
    assert not settings.configured, "what was imported has read settings, which are each fork's own"
    assert threading.active_count() == 1, "only who is alone can be forked"
    gc.freeze()  # so that garbage collection in forks leaves shared memory unchanged
    way = socket.socket(fileno=int(sys.argv[1]))
    way.send(b"warm")
    command = Forks(way).serve()
    if command is not None:
        run(command)
