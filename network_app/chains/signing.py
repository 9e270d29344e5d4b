"""Signatures of warp messages that peers request (p2p.md 8; etna.md 7.4)."""

from google.protobuf.message import DecodeError

from cchain_app.chain import EvmChain
from cchain_app.selectors.warp import SecondsOnline, UnsignedWarpMessage
from cchain_app.selectors.warp import verify_signable as verify_message_signable
from network_app.ports import SignatureRefused
from network_app.wire.sdk_pb2 import (
    L1ValidatorRegistrationJustification,
    SignatureRequest,
    SignatureResponse,
)
from platform_app.chain import PlatformChain
from platform_app.executor.signing import (
    InitialValidation,
    Justification,
    RegistrationMessage,
    SigningReason,
    UnsignableMessage,
    verify_signable,
)
from primitives import bls
from primitives.codec_errors import CodecError
from primitives.warp import UnsignedMessage, parse_unsigned

UNEXPECTED = -1
"""The reference's error code for malformed requests."""


class EvmSigner:
    """Signs the messages that an EVM chain has sent, the hashes of its accepted blocks, and uptimes of its validators.

    Args:
        chain: The chain.
        secret: The node's BLS key.
        seconds_online: Returns the observed uptime of a validator; None: the Primary Network validates the chain.
    """

    def __init__(
        self, chain: EvmChain, secret: bytes, seconds_online: SecondsOnline | None = None
    ) -> None:
        self._chain = chain
        self._secret = secret
        self._seconds_online = seconds_online

    def sign(self, payload: bytes) -> bytes:
        """Return the answer to a SignatureRequest, whose justification has no meaning here. Blocking.

        Raises:
            SignatureRefused: It is not a request, or the message is not one of this chain's.
        """
        _, message = _read(payload)
        try:
            verify_message_signable(self._chain, message, self._seconds_online)
        except UnsignedWarpMessage as error:
            raise SignatureRefused(error.code, str(error)) from error
        signature = bls.sign(self._secret, message.raw)
        return SignatureResponse(signature=signature).SerializeToString()


class PlatformSigner:
    """Signs statements about L1s for the P-Chain.

    Args:
        chain: The chain.
        secret: The node's BLS key.
    """

    def __init__(self, chain: PlatformChain, secret: bytes) -> None:
        self._chain = chain
        self._secret = secret

    def sign(self, payload: bytes) -> bytes:
        """Return the answer to a SignatureRequest. Blocking.

        Raises:
            SignatureRefused: It is not a request, or the message is not true in the last accepted state.
        """
        justification, message = _read(payload)
        try:
            verify_signable(
                message,
                justification,
                self._chain.state(),
                self._chain.node.network_id,
                parse_justification=_justification,
            )
        except UnsignableMessage as error:
            raise SignatureRefused(error.code, str(error)) from error
        signature = bls.sign(self._secret, message.raw)
        return SignatureResponse(signature=signature).SerializeToString()


def _read(payload: bytes) -> tuple[bytes, UnsignedMessage]:
    """Return the justification and the message of a request."""
    try:
        request = SignatureRequest.FromString(payload)
    except DecodeError as error:
        words = f"failed to unmarshal request: proto: {error}"
        raise SignatureRefused(UNEXPECTED, words) from error
    try:
        return request.justification, parse_unsigned(request.message)
    except CodecError as error:
        words = f"failed to parse warp unsigned message: {error}"
        raise SignatureRefused(UNEXPECTED, words) from error


def _justification(raw: bytes) -> Justification:
    try:
        parsed = L1ValidatorRegistrationJustification.FromString(raw)
    except DecodeError as error:
        raise UnsignableMessage(
            SigningReason.MALFORMED_JUSTIFICATION, cause=f"proto: {error}"
        ) from error
    match parsed.WhichOneof("preimage"):
        case "convert_subnet_to_l1_tx_data":
            data = parsed.convert_subnet_to_l1_tx_data
            return InitialValidation(data.subnet_id, data.index)
        case "register_l1_validator_message":
            return RegistrationMessage(parsed.register_l1_validator_message)
        case _:
            return None
