"""Two machines beside this one, as a node's web processes on them see the network.

If the system allows it, each machine is a network namespace of its own, connected to this machine by a pair of virtual
interfaces. The kernel removes namespace and interfaces when their last process ends, so a killed test leaves nothing.
Otherwise each is an address of the loopback interface; the machines then differ only in address and data directory.
"""

import os
import subprocess
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from tests.servers.ports import FIRST, free_port
from tests.servers.process import ServerError, ServerProcess

COUNT = 2
_RANGE = IPv4Network("198.18.0.0/15")
"""Addresses for tests of networks (RFC 2544)."""
_INTERFACE = "eth0"


class NetworkRefused(ServerError):
    """The system does not let this process connect a network namespace."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine."""

    address: str
    """The address of the machine."""
    gateway: str
    """The address under which it reaches this machine."""
    prefix: tuple[str, ...] = ()
    """The beginning of a command line that runs a command there."""


class Machines(AbstractContextManager["Machines"]):
    """The machines, as long as the context lasts."""

    def __init__(self, directory: Path) -> None:
        """Connect the machines.

        Args:
            directory: For the logs of the processes that hold the namespaces.
        """
        self._holders: list[ServerProcess] = []
        self.separate = has_namespaces()
        """Whether each machine has a network namespace."""
        self.all: list[Machine] = []
        try:
            for place in range(COUNT):
                self.all.append(
                    self._connected(directory, place)
                    if self.separate
                    else Machine(f"127.0.0.{place + 2}", "127.0.0.1")
                )
        except ServerError:
            self.close()
            raise

    @property
    def gateways(self) -> list[str]:
        """The addresses at which servers on this machine have to listen besides 127.0.0.1."""
        return [machine.gateway for machine in self.all if self.separate]

    def _connected(self, directory: Path, place: int) -> Machine:
        """Create a namespace and connect it with this machine by two addresses of its own."""
        # A port that no other test has names a network that no other test has.
        subnets = 2 ** (30 - _RANGE.prefixlen)
        at = int(_RANGE.network_address) + (free_port() - FIRST) % subnets * 4
        gateway, address = (str(IPv4Address(at + host)) for host in (1, 2))
        holder = ServerProcess(["unshare", "--net", "sleep", "infinity"], directory / "holder.log")
        self._holders.append(holder)
        holder.wait_until(lambda: _namespace(holder.pid) != _namespace(os.getpid()))
        here = f"web{place}-{at % 100_000}"
        prefix = ("nsenter", f"--net=/proc/{holder.pid}/ns/net", "--")
        _run("link", "add", "name", here, "type", "veth", "peer", "name", _INTERFACE, "netns", str(holder.pid))  # fmt: skip
        _run("address", "add", f"{gateway}/30", "dev", here)
        _run("link", "set", here, "up")
        _run("address", "add", f"{address}/30", "dev", _INTERFACE, prefix=prefix)
        for interface in ("lo", _INTERFACE):
            _run("link", "set", interface, "up", prefix=prefix)
        return Machine(address, gateway, prefix)

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the namespaces."""
        for holder in self._holders:
            holder.kill()


@cache
def has_namespaces() -> bool:
    """Return whether this process may create network namespaces, and connect them with its own."""
    number = os.getpid()
    here, there = f"here{number}", f"there{number}"
    steps = (
        ["unshare", "--net", "true"],
        ["ip", "link", "add", "name", here, "type", "veth", "peer", "name", there],
        ["ip", "link", "delete", here],
    )
    try:
        # In this order: an interface that was made is deleted again.
        return all(
            subprocess.run(step, capture_output=True, check=False).returncode == 0 for step in steps
        )
    except FileNotFoundError:
        return False


def description() -> str:
    """Return a line about the network of the two machines on this system."""
    if has_namespaces():
        return "two machines: network namespaces"
    return "two machines: loopback addresses only, because this system forbids network namespaces"


def _namespace(pid: int) -> str:
    return str(Path(f"/proc/{pid}/ns/net").readlink())


def _run(*arguments: str, prefix: tuple[str, ...] = ()) -> None:
    done = subprocess.run([*prefix, "ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NetworkRefused(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
