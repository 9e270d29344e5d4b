"""Addresses of nodes in the settings and on display: IP:PORT, [IP]:PORT for IPv6."""

from ipaddress import ip_address
from typing import NamedTuple, Self

from typing_extensions import override

from network_app.settings import NetworkSettings
from primitives.settings import CommonSettings


class MalformedAddress(Exception):
    """A setting contains an invalid address."""

    def __init__(self, setting: str, text: str, wanted: str) -> None:
        super().__init__(f"{setting} has {text!r}, which is not {wanted}")
        self.text = text


class NodeAddress(NamedTuple):
    """The address at which peers reach a node."""

    ip: str
    port: int

    @override
    def __str__(self) -> str:
        return f"[{self.ip}]:{self.port}" if ":" in self.ip else f"{self.ip}:{self.port}"

    @classmethod
    def parse(cls, setting: str, text: str) -> Self:
        """Parse IP:PORT.

        Raises:
            MalformedAddress: The text has another format.
        """
        host, _, port = text.rpartition(":")
        if not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
            raise MalformedAddress(setting, text, "IP:PORT")
        try:
            ip = ip_address(host.removeprefix("[").removesuffix("]"))
        except ValueError as error:
            raise MalformedAddress(setting, text, "IP:PORT (names are not looked up)") from error
        return cls(str(ip), int(port))


def bootstrappers(node: CommonSettings) -> list[NodeAddress]:
    """Return the addresses in NODE_BOOTSTRAP without duplicates.

    Raises:
        MalformedAddress: An entry is not IP:PORT.
    """
    named = (NodeAddress.parse("NODE_BOOTSTRAP", text) for text in node.bootstrap)
    return list(dict.fromkeys(named))


def listening(peers: NetworkSettings) -> NodeAddress:
    """Return the address on which a node listens for peers.

    Raises:
        MalformedAddress: NODE_STAKING_HOST is not an IP.
    """
    return NodeAddress(_ip("NODE_STAKING_HOST", peers.staking_host, "an IP"), peers.staking_port)


def advertised(peers: NetworkSettings) -> NodeAddress:
    """Return the address that a node sends to its peers.

    Unspecified: a node that listens on all addresses of its machine, without a setting for its public one,
    sends the loopback address, at which nodes on the same machine reach it.

    Raises:
        MalformedAddress: NODE_PUBLIC_IP is neither IP nor IP:PORT, or NODE_STAKING_HOST is not an IP.
    """
    if peers.public_ip.count(":") == 1 or "]:" in peers.public_ip:
        return NodeAddress.parse("NODE_PUBLIC_IP", peers.public_ip)
    if peers.public_ip:
        return NodeAddress(
            _ip("NODE_PUBLIC_IP", peers.public_ip, "IP or IP:PORT"), peers.staking_port
        )
    own = listening(peers)
    return NodeAddress("127.0.0.1", own.port) if ip_address(own.ip).is_unspecified else own


def _ip(setting: str, text: str, wanted: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise MalformedAddress(setting, text, wanted) from error
