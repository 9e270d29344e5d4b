"""The times of dials: immediately after a node has moved, but not repeatedly."""

import asyncio
from dataclasses import dataclass, field

from network_app.config import NetworkConfig
from network_app.peers.dialer import ConnectionLifetime, DialAddress, Dialer
from network_app.peers.errors import PeerError, PeerReason
from primitives.ids import NodeID

NODE = NodeID(bytes(20))
CONFIG = NetworkConfig(network_id=1, first_retry=1000.0, longest_retry=1000.0)


@dataclass
class Nobody:
    """Addresses at which no node answers."""

    dialled: list[int] = field(default_factory=list)

    async def dial(self, address: DialAddress, _met: object) -> ConnectionLifetime:
        self.dialled.append(address.port)
        return ConnectionLifetime(PeerError(PeerReason.NOT_REACHED, cause="nobody"))

    async def absent(self, _node_id: NodeID) -> bool:
        return False


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_frequent_address_changes_are_dialled_once() -> None:
    nobody = Nobody()
    dialer = Dialer(CONFIG, nobody.dial, nobody.absent)
    dialer.want({NODE: DialAddress("192.0.2.1", 1)})
    await settled()
    assert nobody.dialled == [1]

    for port in range(2, 100):
        dialer.want({NODE: DialAddress("192.0.2.1", port)})
        await settled()

    assert nobody.dialled == [1, 2]
    assert dialer._validators[NODE].address.port == 99  # the target of the next dial
    await dialer.stop()


async def test_later_address_change_is_dialled_immediately() -> None:
    nobody = Nobody()
    dialer = Dialer(CONFIG, nobody.dial, nobody.absent)
    dialer.want({NODE: DialAddress("192.0.2.1", 1)})
    await settled()
    dialer.want({NODE: DialAddress("192.0.2.1", 2)})
    await settled()
    dialer._validators[NODE].moved_at -= CONFIG.longest_retry

    dialer.want({NODE: DialAddress("192.0.2.1", 3)})
    await settled()

    assert nobody.dialled == [1, 2, 3]
    await dialer.stop()
