"""Limits for each kind of message: its bytes, and the number of its fields (p2p.md 2 to 5, 9). Pure.

Unspecified: the reference accepts 2 MiB for every kind. A limit here is several times the size that its
messages need: 20 IDs of a frontier, 15 addresses of 2.6 KiB, a filter for tens of thousands of keys.
"""

from typing import NamedTuple

KIB = 1024
LARGEST = 2048 * KIB
"""Maximum bytes of any message."""
EARLY_SIZE = 64 * KIB
"""Maximum bytes of a message, and of a frame, before the handshake is finished."""
EARLY_KINDS = frozenset({"ping", "pong", "handshake", "get_peer_list", "peer_list"})
"""Kinds of messages that are accepted before the handshake is finished."""


class MessageLimit(NamedTuple):
    """The limits for one kind of message."""

    size: int
    """Maximum bytes, decompressed."""
    fields: int
    """Maximum number of fields, including unknown ones and each element of a repeated field."""


_FEW = 16
_SMALL = MessageLimit(KIB, _FEW)
_MEDIUM = MessageLimit(64 * KIB, _FEW)
_LARGE = MessageLimit(LARGEST, _FEW)
_IDS = MessageLimit(64 * KIB, 1024 + _FEW)

LIMITS = {
    "ping": _SMALL,
    "pong": _SMALL,
    "handshake": MessageLimit(64 * KIB, 128),
    "get_peer_list": _MEDIUM,
    "peer_list": MessageLimit(64 * KIB, 64),
    "get_state_summary_frontier": _SMALL,
    "state_summary_frontier": _MEDIUM,
    "get_accepted_state_summary": _IDS,
    "accepted_state_summary": _IDS,
    "get_accepted_frontier": _SMALL,
    "accepted_frontier": _SMALL,
    "get_accepted": _IDS,
    "accepted": _IDS,
    "get_ancestors": _SMALL,
    "ancestors": MessageLimit(LARGEST, 2000 + _FEW),
    "get": _SMALL,
    "put": _LARGE,
    "push_query": _LARGE,
    "pull_query": _SMALL,
    "chits": _SMALL,
    "app_request": _MEDIUM,
    "app_response": _LARGE,
    "app_gossip": _LARGE,
    "app_error": _MEDIUM,
    "simplex": _LARGE,
}
