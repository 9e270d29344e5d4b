"""Handshakes and peer lists: this node's claims, checks of other nodes' claims, and gossip of addresses.

`network_app.handshake` has the rules of a handshake, `network_app.gossip` those of known
addresses. This module applies them with this node's keys, clock and validators.
"""

import time
from collections.abc import Callable, Collection

from network_app.bloom import BloomFilter
from network_app.config import NetworkConfig
from network_app.gossip import AddressBook
from network_app.handshake import handshake as handshakes
from network_app.handshake.claims import (
    NodeClaim,
    SignedIP,
    claimed_ip_port,
    is_public,
    parse_claimed_ip_port,
    verify_bls,
)
from network_app.handshake.handshake import MAX_SUBNETS, PeerVersionInfo, check_compatible
from network_app.peers.dialer import DialAddress
from network_app.peers.members import Asker, NetworkMembers
from network_app.ports import Directory
from network_app.wire.p2p_pb2 import BloomFilter as FilterMessage
from network_app.wire.p2p_pb2 import GetPeerList, Handshake, Message, PeerList
from primitives.identity import node_id_of
from primitives.ids import ID, NodeID


class Introductions:
    """This node's part in handshakes and in the gossip of addresses.

    `is_tracked` returns whether the address of a node is stored and passed on although the node does not
    validate. `news` is called when there is a new address to dial. `subnets` returns the subnets that this node tracks,
    `joined` those to whose validators it connects. A handshake names sixteen of them, those joined first.
    """

    def __init__(
        self,
        own: NodeClaim,
        config: NetworkConfig,
        directory: Directory,
        *,
        is_tracked: Callable[[NodeID], bool],
        news: Callable[[], None],
        subnets: Callable[[], Collection[ID]] = tuple,
        joined: Callable[[], Collection[ID]] = tuple,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._own = own
        self._config = config
        self._directory = directory
        self._news = news
        self._subnets = subnets
        self._wall = wall
        self._is_tracked = is_tracked
        self.members = NetworkMembers(directory, joined)
        """The validators to which this node connects."""
        self._book = AddressBook(
            own,
            lambda node_id: node_id in self.members or is_tracked(node_id),
            most_known=config.most_known_addresses,
            filter_interval=config.filter_interval,
        )

    def is_validator(self, node_id: NodeID) -> bool:
        """Return whether a node is currently a validator of the Primary Network."""
        return node_id in self._directory.validators()

    def key_of(self, node_id: NodeID) -> bytes | None:
        """Return a current validator's BLS key, None if it has none or does not validate."""
        facts = self._directory.validators().get(node_id)
        return facts.public_key if facts is not None else None

    # --- handshakes ---

    def handshake(self) -> Handshake:
        """Return this node's handshake."""
        now = self._wall()
        return handshakes.make(
            network_id=self._config.network_id,
            now=now,
            claim=self._own.claim,
            tracked_subnets=self._named_subnets(),
            known_peers=self._book.known_peers(now),
            all_subnets=self.is_validator(self._own.node_id),
            upgrade_time=self._config.upgrade_time,
        )

    def _named_subnets(self) -> list[ID]:
        found = dict.fromkeys([*sorted(self.members.joined()), *sorted(self._subnets())])
        return list(found)[:MAX_SUBNETS]

    def check(self, handshake: Handshake, certificate_der: bytes) -> PeerVersionInfo:
        """Check a peer's handshake and return its claims.

        Raises:
            HandshakeError: The handshake breaks a rule.
        """
        return handshakes.check(
            handshake,
            certificate_der=certificate_der,
            network_id=self._config.network_id,
            now=self._wall(),
            validator_key=self.key_of(node_id_of(certificate_der)),
            upgraded=self._is_upgraded(),
            clock_tolerance=self._config.clock_tolerance,
        )

    def check_again(
        self, node_id: NodeID, facts: PeerVersionInfo, checked: bytes | None
    ) -> bytes | None:
        """Repeat the checks that depend on the time and the validators; return the current BLS key.

        `checked` is the key of the last check. It is not checked again, because that would take most of
        the time of a ping.

        Raises:
            HandshakeError: The claims are no longer valid.
        """
        check_compatible(facts.version, upgraded=self._is_upgraded())
        key = self.key_of(node_id)
        if key is not None and key != checked:
            verify_bls(facts.claim, key)
        return key

    def _is_upgraded(self) -> bool:
        return self._wall() >= self._config.upgrade_time

    # --- addresses ---

    def __len__(self) -> int:
        return len(self._book)

    def met(self, certificate_der: bytes, claim: SignedIP) -> None:
        """Store the address that a peer claimed in its handshake."""
        if self._book.add(NodeClaim(node_id_of(certificate_der), certificate_der, claim)):
            self._news()

    def learn(self, peer_list: PeerList) -> None:
        """Store the wanted addresses from a peer's list.

        Unspecified: the part of a list that exceeds the maximal length of an answer is ignored.

        Raises:
            HandshakeError: An address is malformed, or a wanted one is forged.
        """
        found = False
        for passed_on in peer_list.claimed_ip_ports[: self._config.peer_list_size]:
            claimed = parse_claimed_ip_port(passed_on)
            if self._book.is_news(claimed):
                claimed.verify(self._wall())
                found = self._book.add(claimed) or found
        if found:
            self._news()

    def request(self) -> GetPeerList:
        """Return a request for addresses that this node does not know."""
        entries, salt = self._book.known_peers(self._wall())
        return GetPeerList(
            known_peers=FilterMessage(filter=entries, salt=salt),
            all_subnets=self.is_validator(self._own.node_id),
        )

    def peer_list(self, known: BloomFilter, asker: Asker) -> Message:
        """Return addresses that a peer does not know and may know; the list may be empty."""
        peers = self._book.sample(
            known,
            self._config.peer_list_size,
            asker=asker.node_id,
            may_know=lambda node_id: (
                self._is_tracked(node_id) or self.members.is_shown(node_id, asker)
            ),
        )
        return Message(
            peer_list=PeerList(
                claimed_ip_ports=[
                    claimed_ip_port(item.certificate_der, item.claim) for item in peers
                ]
            )
        )

    def answer(self, request: GetPeerList, asker: Asker) -> Message | None:
        """Return the answer to a request for addresses; None if there are no addresses to send.

        The request's `all_subnets` replaces that of the handshake.

        Raises:
            InvalidKnownPeers: The request's filter is invalid.
        """
        asking = asker._replace(all_subnets=request.all_subnets)
        peers = self.peer_list(handshakes.read_filter(request.known_peers), asking)
        return peers if peers.peer_list.claimed_ip_ports else None

    def addresses(self) -> dict[NodeID, DialAddress]:
        """Return the addresses at which to dial validators, where known and allowed.

        An address that must not be dialled is kept and passed on, because other nodes may reach it.
        """
        return {
            node_id: DialAddress(str(claimed.claim.ip), claimed.claim.port)
            for node_id in self.members
            if (claimed := self._book.get(node_id)) is not None
            and (self._config.dials_private or is_public(claimed.claim.ip))
        }
