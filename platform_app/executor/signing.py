"""Statements that a node signs for the P-Chain: facts about L1s that hold in its last accepted state (etna.md 7.4).

Managers of L1s act on these statements, so a node must not sign one that is false or that can still become false.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from platform_app.state.chain import ChainState
from platform_app.state.l1_validators import Expiry
from platform_app.txs import warp
from platform_app.txs.warp import (
    L1Message,
    L1ValidatorRegistration,
    L1ValidatorWeight,
    RegisterL1Validator,
    SubnetToL1Conversion,
    initial_validation_id,
)
from primitives.hashing import sha256
from primitives.ids import ID, P_CHAIN_ID, IdError
from primitives.uint64 import MAX
from primitives.warp import AddressedCall, UnsignedMessage
from utxo.errors import InvalidTx


class SigningReason(Enum):
    """Why a message is not signed: the code and the message for the requesting peer."""

    NOT_SIGNED = -1, "failed to sign message: {cause}"
    NO_ADDRESSED_CALL = 1, "failed to parse warp addressed call: {cause}"
    SOURCE_ADDRESS = 2, "source address should be empty"
    NO_L1_MESSAGE = 3, "failed to parse warp addressed call payload: {cause}"
    UNSUPPORTED_TYPE = 4, "unsupported warp addressed call payload type: *message.{kind}"
    MALFORMED_JUSTIFICATION = 5, "failed to parse justification: {cause}"
    NOT_CONVERTED = 6, 'subnet "{subnet_id}" has not been converted'
    OTHER_CONVERSION = 7, 'provided conversionID "{given}" != expected conversionID "{expected}"'
    NO_JUSTIFICATION = 8, "invalid justification type: <nil>"
    MALFORMED_SUBNET_ID = 9, "failed to parse subnetID: {cause}"
    OTHER_VALIDATION = 10, 'validationID "{given}" != justificationID "{justified}"'
    NO_VALIDATION = 11, 'validation "{validation_id}" does not exist'
    VALIDATION_EXISTS = 12, 'validation "{validation_id}" exists'
    NO_REGISTRATION = 13, "failed to parse RegisterL1Validator justification: {cause}"
    MAY_BE_REGISTERED = 14, 'validation "{validation_id}" can be registered until {expiry}'
    IMPOSSIBLE_NONCE = 15, "impossible nonce"
    OTHER_NONCE = 16, "provided nonce {given} != expected nonce ({next} - 1)"
    OTHER_WEIGHT = 17, "provided weight {given} != expected weight {expected}"


class UnsignableMessage(Exception):
    """A message that this node does not sign."""

    def __init__(self, reason: SigningReason, **values: object) -> None:
        code, words = reason.value
        super().__init__(words.format(**values))
        self.reason = reason
        self.code: int = code


@dataclass(frozen=True, slots=True)
class InitialValidation:
    """Justifies that a validation is not registered: it is a conversion's initial validation, given by its index."""

    subnet_id: bytes
    index: int


@dataclass(frozen=True, slots=True)
class RegistrationMessage:
    """Justifies that a validation is not registered: the message that would have registered it."""

    raw: bytes


Justification = InitialValidation | RegistrationMessage | None
"""None: the justification is empty."""


def verify_signable(
    message: UnsignedMessage,
    justification: bytes,
    state: ChainState,
    network_id: int,
    *,
    parse_justification: Callable[[bytes], Justification],
) -> None:
    """Check that a message is true in a state and cannot become false.

    Args:
        message: The message to sign.
        justification: The evidence of the peer; its form depends on the message.
        state: The last accepted state.
        network_id: This network's ID.
        parse_justification: Parses the justification of a registration; raises `UnsignableMessage`.

    Raises:
        UnsignableMessage: It must not be signed.
    """
    content = _content_of(message)
    if isinstance(content, SubnetToL1Conversion):
        _verify_conversion(content, justification, state)
    elif isinstance(content, L1ValidatorRegistration):
        if content.registered:
            _verify_registered(content.validation_id, state)
        else:
            _verify_never(content.validation_id, parse_justification(justification), state)
    elif isinstance(content, L1ValidatorWeight):
        _verify_weight(content, state)
    else:
        raise UnsignableMessage(SigningReason.UNSUPPORTED_TYPE, kind=type(content).__name__)
    if message.source_chain_id != P_CHAIN_ID:
        raise UnsignableMessage(SigningReason.NOT_SIGNED, cause="wrong SourceChainID")
    if message.network_id != network_id:
        raise UnsignableMessage(SigningReason.NOT_SIGNED, cause="wrong networkID")


def _content_of(message: UnsignedMessage) -> L1Message:
    try:
        call = warp.parse_payload(message.payload)
    except InvalidTx as cause:
        raise UnsignableMessage(SigningReason.NO_ADDRESSED_CALL, cause=cause) from cause
    if not isinstance(call, AddressedCall):
        words = "wrong payload type: *payload.Hash"
        raise UnsignableMessage(SigningReason.NO_ADDRESSED_CALL, cause=words)
    if call.source_address:
        raise UnsignableMessage(SigningReason.SOURCE_ADDRESS)
    try:
        return warp.parse_l1_message(call.payload)
    except InvalidTx as cause:
        raise UnsignableMessage(SigningReason.NO_L1_MESSAGE, cause=cause) from cause


def _verify_conversion(
    content: SubnetToL1Conversion, justification: bytes, state: ChainState
) -> None:
    try:
        subnet_id = ID(justification)
    except IdError as cause:
        raise UnsignableMessage(SigningReason.MALFORMED_JUSTIFICATION, cause=cause) from cause
    conversion = state.l1_validators.conversion(subnet_id)
    if conversion is None:
        raise UnsignableMessage(SigningReason.NOT_CONVERTED, subnet_id=subnet_id)
    if content.conversion_id != conversion.conversion_id:
        raise UnsignableMessage(
            SigningReason.OTHER_CONVERSION,
            given=content.conversion_id,
            expected=conversion.conversion_id,
        )


def _verify_registered(validation_id: ID, state: ChainState) -> None:
    if state.l1_validators.get(validation_id) is None:
        raise UnsignableMessage(SigningReason.NO_VALIDATION, validation_id=validation_id)


def _verify_never(validation_id: ID, justification: Justification, state: ChainState) -> None:
    """Check that a validation does not exist and can never exist."""
    match justification:
        case None:
            raise UnsignableMessage(SigningReason.NO_JUSTIFICATION)
        case InitialValidation(raw_subnet_id, index):
            try:
                subnet_id = ID(raw_subnet_id)
            except IdError as cause:
                raise UnsignableMessage(SigningReason.MALFORMED_SUBNET_ID, cause=cause) from cause
            _verify_same(validation_id, initial_validation_id(subnet_id, index))
            if state.l1_validators.conversion(subnet_id) is None:
                raise UnsignableMessage(SigningReason.NOT_CONVERTED, subnet_id=subnet_id)
            _verify_absent(validation_id, state)
        case RegistrationMessage(raw):
            registration = _registration(raw)
            _verify_same(validation_id, ID(sha256(raw)))
            _verify_absent(validation_id, state)
            expiry = Expiry(registration.expiry, validation_id)
            is_used = state.l1_validators.has_expiry(expiry)
            if registration.expiry > state.clock.timestamp() and not is_used:
                raise UnsignableMessage(
                    SigningReason.MAY_BE_REGISTERED,
                    validation_id=validation_id,
                    expiry=registration.expiry,
                )
        case unreachable:
            assert_never(unreachable)


def _registration(raw: bytes) -> RegisterL1Validator:
    try:
        message = warp.parse_l1_message(raw)
    except InvalidTx as cause:
        raise UnsignableMessage(SigningReason.NO_REGISTRATION, cause=cause) from cause
    if not isinstance(message, RegisterL1Validator):
        words = f"wrong payload type: *message.{type(message).__name__}"
        raise UnsignableMessage(SigningReason.NO_REGISTRATION, cause=words)
    return message


def _verify_same(given: ID, justified: ID) -> None:
    if given != justified:
        raise UnsignableMessage(SigningReason.OTHER_VALIDATION, given=given, justified=justified)


def _verify_absent(validation_id: ID, state: ChainState) -> None:
    if state.l1_validators.get(validation_id) is not None:
        raise UnsignableMessage(SigningReason.VALIDATION_EXISTS, validation_id=validation_id)


def _verify_weight(content: L1ValidatorWeight, state: ChainState) -> None:
    if content.nonce == MAX:
        raise UnsignableMessage(SigningReason.IMPOSSIBLE_NONCE)
    validator = state.l1_validators.get(content.validation_id)
    if validator is None:
        raise UnsignableMessage(SigningReason.NO_VALIDATION, validation_id=content.validation_id)
    if content.nonce + 1 != validator.min_nonce:
        raise UnsignableMessage(
            SigningReason.OTHER_NONCE, given=content.nonce, next=validator.min_nonce
        )
    if content.weight != validator.weight:
        raise UnsignableMessage(
            SigningReason.OTHER_WEIGHT, given=content.weight, expected=validator.weight
        )
