"""Addresses of nodes in the settings and on display: IP:PORT, [IP]:PORT for IPv6."""

from ipaddress import ip_address
from typing import NamedTuple, Protocol, Self

from typing_extensions import override


class MalformedAddress(Exception):
    """A setting contains an invalid address."""

    def __init__(self, setting: str, text: str, wanted: str) -> None:
        super().__init__(f"{setting} has {text!r}, which is not {wanted}")
        self.text = text


class AddressSettings(Protocol):
    """The node's settings for its addresses; see `NodeSettings` for their meanings."""

    @property
    def bootstrap(self) -> tuple[str, ...]:
        """Addresses of the nodes that are followed."""

    @property
    def staking_host(self) -> str:
        """The address that it listens on."""

    @property
    def staking_port(self) -> int:
        """The port that it listens on."""

    @property
    def public_ip(self) -> str:
        """The address sent to peers, with or without a port; if empty, the address that it listens on."""


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


def bootstrappers(node: AddressSettings) -> list[NodeAddress]:
    """Return the addresses in NODE_BOOTSTRAP without duplicates.

    Raises:
        MalformedAddress: An entry is not IP:PORT.
    """
    named = (NodeAddress.parse("NODE_BOOTSTRAP", text) for text in node.bootstrap)
    return list(dict.fromkeys(named))


def listening(node: AddressSettings) -> NodeAddress:
    """Return the address on which a node listens for peers.

    Raises:
        MalformedAddress: NODE_STAKING_HOST is not an IP.
    """
    return NodeAddress(_ip("NODE_STAKING_HOST", node.staking_host, "an IP"), node.staking_port)


def advertised(node: AddressSettings) -> NodeAddress:
    """Return the address that a node sends to its peers.

    Unspecified: a node that listens on all addresses of its machine, without a setting for its public one,
    sends the loopback address, at which nodes on the same machine reach it.

    Raises:
        MalformedAddress: NODE_PUBLIC_IP is neither IP nor IP:PORT, or NODE_STAKING_HOST is not an IP.
    """
    if node.public_ip.count(":") == 1 or "]:" in node.public_ip:
        return NodeAddress.parse("NODE_PUBLIC_IP", node.public_ip)
    if node.public_ip:
        return NodeAddress(
            _ip("NODE_PUBLIC_IP", node.public_ip, "IP or IP:PORT"), node.staking_port
        )
    own = listening(node)
    return NodeAddress("127.0.0.1", own.port) if ip_address(own.ip).is_unspecified else own


def _ip(setting: str, text: str, wanted: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise MalformedAddress(setting, text, wanted) from error
