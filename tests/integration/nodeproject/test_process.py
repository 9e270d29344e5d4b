"""Resources that a node claims before it starts."""

import errno
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nodeproject.startup import process
from nodeproject.startup.process import CannotStart, StartReason, check_port, claim_directory
from primitives import sockets
from primitives.sockets import bound_sockets
from tests.builders.reasons import raises
from tests.servers.node import ROOT
from tests.servers.ports import free_port, has_ipv6

pytestmark = pytest.mark.sqlite_only


def test_data_directory_is_locked_by_one_node(tmp_path: Path) -> None:
    with (
        claim_directory(tmp_path),
        raises(StartReason.DIRECTORY_IN_USE, kind=CannotStart, match="another node runs on"),
        claim_directory(tmp_path),
    ):
        pass

    with claim_directory(tmp_path):  # free again
        pass


def test_a_taken_port_is_reported_before_the_start() -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        words = f"cannot listen on 127.0.0.1:{port} .Address already in use.: choose another NODE_X"
        with raises(StartReason.PORT_IN_USE, kind=CannotStart, match=words):
            check_port("127.0.0.1", port, "NODE_X")

    check_port("127.0.0.1", port, "NODE_X")


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.7"])
def test_foreign_address_is_not_reported_as_a_port_conflict(host: str) -> None:
    with raises(
        StartReason.NOT_OUR_ADDRESS,
        kind=CannotStart,
        match=rf"^cannot listen on '{host}' .*another NODE_HOST$",
    ):
        check_port(host, 0, "NODE_PORT", "NODE_HOST")


@pytest.mark.parametrize("host", ["::", "[::]", "0::0", "*", ""])
def test_hosts_for_all_addresses_have_a_socket_for_each_family(host: str) -> None:
    bound = bound_sockets(host, 0)
    try:
        ports = {other.getsockname()[1] for other in bound}
        families = {item.family for item in bound}
        assert len(ports) == 1
        assert families == {socket.AF_INET, *([socket.AF_INET6] if has_ipv6() else [])}
        for one in bound:  # neither accepts connections of the other address family
            one.listen()
        with socket.create_connection(("127.0.0.1", *ports)) as client:
            accepting = next(entry for entry in bound if entry.family == socket.AF_INET)
            accepted, peer = accepting.accept()
            accepted.close()
            assert peer == client.getsockname()
    finally:
        for element in bound:
            element.close()


@pytest.mark.parametrize("reason", [errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL])
def test_a_machine_without_ipv6_listens_on_ipv4(
    monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    made = sockets._bound_socket

    def without_ipv6(family: socket.AddressFamily, *arguments: Any, **options: Any) -> Any:
        if family == socket.AF_INET6:
            raise OSError(reason, os.strerror(reason))
        return made(family, *arguments, **options)

    monkeypatch.setattr(sockets, "_bound_socket", without_ipv6)
    for other in (bound := bound_sockets("::", 0)):
        other.close()
    assert [item.family for item in bound] == [socket.AF_INET]
    with pytest.raises(CannotStart, match=r"^cannot listen on .*::1"):
        check_port("::1", 0, "NODE_X", "NODE_HOST")


@pytest.mark.parametrize("taken", ["127.0.0.1", "::1"])
def test_port_taken_for_one_address_family_is_reported(taken: str) -> None:
    if taken == "::1" and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    family = socket.AF_INET6 if ":" in taken else socket.AF_INET
    with socket.create_server((taken, 0), family=family) as server:
        port = server.getsockname()[1]
        with raises(
            StartReason.PORT_IN_USE, kind=CannotStart, match=rf"^cannot listen on \[::\]:{port} "
        ):
            check_port("::", port, "NODE_X")


SWALLOWED = """
import os, signal, sys
from nodeproject.startup.process import Termination

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000):  # here the handler is called
            pass

termination = Termination()
if sys.argv[1] == "asked":
    Finalized()
print("goes on", flush=True)
termination.once_more()
print("listens", flush=True)
"""


@pytest.mark.parametrize(
    ("asked", "said"), [("asked", "goes on\n"), ("not asked", "goes on\nlistens\n")]
)
def test_signal_swallowed_by_a_finalizer_still_ends_the_process(asked: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWED, asked],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == said
    assert ("Exception ignored in" in done.stderr) == (asked == "asked")


COPIES = """
import resource
from nodeproject.startup import process

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        [b"x" * 700_000 for _ in range(4)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(faults() > 10_000)
process.tune()
faults()
print(faults() < 1_000)
"""


HEAPS = """
import ctypes, tempfile, threading
from nodeproject.startup import process

libc = ctypes.CDLL(None)
libc.fopen.restype = libc.malloc.restype = ctypes.c_void_p
libc.fclose.argtypes = (ctypes.c_void_p,)
libc.malloc_info.argtypes = (ctypes.c_int, ctypes.c_void_p)
all_there = threading.Barrier(8)

def allocate():
    all_there.wait()
    libc.malloc(1_000)
    all_there.wait()

{tune}
threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with tempfile.NamedTemporaryFile() as file:
    stream = libc.fopen(file.name.encode(), b"w")
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    print(file.read().count(b"<heap nr="))
"""

only_glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="the program sets glibc's malloc only"
)


def _output(program: str) -> list[str]:
    # Leave out variables that configure memory allocation, or replace glibc's allocator.
    others = ("LD_PRELOAD", "MALLOC_", "GLIBC_TUNABLES")
    usual = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=usual,
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.split()


@only_glibc
def test_memory_of_long_responses_is_reused() -> None:
    assert _output(COPIES) == ["True", "True"]


@only_glibc
def test_threads_share_heaps() -> None:
    assert int(_output(HEAPS.format(tune=""))[0]) > process.HEAPS
    assert int(_output(HEAPS.format(tune="process.tune()"))[0]) <= process.HEAPS
