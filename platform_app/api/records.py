"""Validator and delegator records, rendered once and cached until they change.

The fields are those of the specification's validator record, and in addition the reference's (pchain.md
8.4, gaps.md 3). Uptime and connected change without a block, so they are added on each call.
"""

from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from platform_app.api.presence import Presence
from platform_app.api.wire import Json, fee_percent, four_digits, owner
from platform_app.chain import PlatformChain
from platform_app.memory.stakers import SUBNETS, CurrentSet, DelegatorRecord, ValidatorRecord
from primitives.bounded_cache import BoundedCache
from primitives.ids import ID, NodeID

Key = TypeVar("Key", bound=Hashable)
Source = TypeVar("Source")
Made = TypeVar("Made")


class KeptOf(Generic[Key, Source, Made]):
    """Values derived from source objects, by key, valid while the source is the same object."""

    def __init__(self, most: int) -> None:
        self._values: BoundedCache[Key, tuple[Source, Made]] = BoundedCache(most)

    def of(self, key: Key, source: Source, make: Callable[[Made | None], Made]) -> Made:
        """Return the cached value, or the result of `make`, which gets the previous value of the key."""
        known = self._values.get(key)
        if known is not None and known[0] is source:
            return known[1]
        made = make(None if known is None else known[1])
        self._values.put_newest(key, (source, made))
        return made


class KeptTexts(Generic[Key]):
    """Texts by immutable keys, with a limit on their total bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._texts: BoundedCache[Key, bytes] = BoundedCache(
            most_weight=most_bytes, weigh=lambda _, text: len(text)
        )

    def of(self, key: Key, make: Callable[[], bytes]) -> bytes:
        """Return the cached text, or the result of `make`; a text larger than the limit is not cached."""
        known = self._texts.get(key)
        if known is None:
            known = make()
            self._texts.put(key, known)
        return known


_DELEGATED_NODES: Final = 1024
"""The number of validators whose rendered delegators are cached."""

_ENDS: Final = 4096

_encode: Final = msgspec.json.Encoder().encode


class Piece(NamedTuple):
    """The text of a validator's record up to the value of its uptime."""

    validator: ValidatorRecord
    text: bytes


class StakerRecords:
    """The rendered records of a chain's stakers."""

    def __init__(self, chain: PlatformChain) -> None:
        self._chain = chain
        self._sets: KeptOf[ID, CurrentSet, Mapping[NodeID, Piece]] = KeptOf(SUBNETS)
        self._delegators: KeptOf[tuple[ID, NodeID], tuple[DelegatorRecord, ...], bytes] = KeptOf(
            _DELEGATED_NODES
        )
        self._end = lru_cache(maxsize=_ENDS)(_end)

    def pieces_of(self, subnet_id: ID, present: CurrentSet) -> Mapping[NodeID, Piece]:
        """Return the rendered validators of a subnet by node, in staker order.

        After a change, only the changed validators are rendered again.
        """

        def make(before: Mapping[NodeID, Piece] | None) -> Mapping[NodeID, Piece]:
            known = before or {}
            return {
                validator.node_id: self._piece(validator, known.get(validator.node_id))
                for validator in present.validators
            }

        return self._sets.of(subnet_id, present, make) if present.validators else {}

    def record(
        self,
        piece: Piece,
        presence: Presence,
        delegators: bytes = b"",
        *,
        in_percent: bool = False,
    ) -> bytes:
        """Return a validator's record as JSON.

        Args:
            piece: The part that is already rendered.
            presence: The current state of its node.
            delegators: A JSON array; left out if empty.
            in_percent: Whether the uptime is a percentage as in the reference, "95.2300" instead of "0.9523".
        """
        end = self._end(presence.uptime * (100 if in_percent else 1), presence.connected)
        if delegators:
            end = b'%b,"delegators":%b}' % (end[:-1], delegators)
        return piece.text + end

    def delegators_text(
        self, subnet_id: ID, node_id: NodeID, present: tuple[DelegatorRecord, ...]
    ) -> bytes:
        """Return a validator's delegators as a JSON array."""
        if not present:
            return b"[]"
        return self._delegators.of(
            (subnet_id, node_id),
            present,
            lambda _: _encode(
                [_delegator(self._chain, delegator, with_reward=True) for delegator in present]
            ),
        )

    def pending_delegator(self, delegator: DelegatorRecord) -> Json:
        """Return the record of a delegator whose start is in the future."""
        return _delegator(self._chain, delegator, with_reward=False)

    def _piece(self, validator: ValidatorRecord, before: Piece | None) -> Piece:
        if before is not None and before.validator == validator:
            return before
        text: bytes = _encode(_validator(self._chain, validator))
        return Piece(validator, text[:-1] + b',"uptime":')


def _end(uptime: float, connected: bool) -> bytes:  # noqa: FBT001
    """Return the end of a record after its piece; cached, because it is the same for most validators."""
    return b'"%b","connected":%b}' % (
        four_digits(uptime).encode(),
        b"true" if connected else b"false",
    )


def pending_validator(validator: ValidatorRecord, *, connected: bool) -> Json:
    """Return the record of a validator whose start is in the future."""
    shown = _staker(validator) | {"connected": connected}
    if validator.shares is not None:
        shown["delegationFee"] = fee_percent(validator.shares)
    return shown | _signer(validator)


def _validator(chain: PlatformChain, validator: ValidatorRecord) -> Json:
    """Return a validator's record without uptime and connected."""
    shown = _staker(validator)
    if validator.shares is None or validator.rewards_owner is None:
        # Unspecified: these validators accept no delegators, but the specification's record always has the field.
        return shown | {"delegationFee": fee_percent(0)}
    rewards = owner(chain, validator.rewards_owner)
    delegation = validator.delegation_rewards_owner
    return {
        **shown,
        "delegationFee": fee_percent(validator.shares),
        "rewardOwner": rewards,
        "validationRewardOwner": rewards,
        "delegationRewardOwner": rewards if delegation is None else owner(chain, delegation),
        "potentialReward": str(validator.potential_reward),
        "accruedDelegateeReward": str(validator.delegatee_reward),
        **_signer(validator),
        **_renewal(chain, validator),
        "delegatorCount": str(validator.delegator_count),
        "delegatorWeight": str(validator.delegator_weight),
    }


def _delegator(chain: PlatformChain, delegator: DelegatorRecord, *, with_reward: bool) -> Json:
    shown = _staker(delegator)
    if not with_reward:
        return shown
    if delegator.rewards_owner is not None:
        shown["rewardOwner"] = owner(chain, delegator.rewards_owner)
    return shown | {"potentialReward": str(delegator.potential_reward)}


def _staker(staker: ValidatorRecord | DelegatorRecord) -> dict[str, Any]:
    """Return the fields that all records have; weight and stakeAmount are two names of one number."""
    weight = str(staker.weight)
    return {
        "txID": str(staker.tx_id),
        "startTime": str(staker.start),
        "endTime": str(staker.end),
        "weight": weight,
        "stakeAmount": weight,
        "nodeID": str(staker.node_id),
    }


def _renewal(chain: PlatformChain, validator: ValidatorRecord) -> Json:
    """Return the terms of an auto-renewed validator (etna.md 9)."""
    terms = validator.renewal
    if terms is None:
        return {}
    return {
        "validatorAuthority": owner(chain, terms.authority),
        "nextPeriod": str(terms.next_period),
        "autoCompoundRewardShares": str(terms.compound_shares),
    }


def _signer(validator: ValidatorRecord) -> Json:
    if validator.public_key is None or validator.proof_of_possession is None:
        return {}
    return {
        "signer": {
            "publicKey": "0x" + validator.public_key.hex(),
            "proofOfPossession": "0x" + validator.proof_of_possession.hex(),
        }
    }
