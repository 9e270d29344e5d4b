"""Signatures of warp messages that peers request (p2p.md 8; etna.md 7.4)."""

from google.protobuf.message import DecodeError

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
from primitives import bls, warp
from primitives.codec_errors import CodecError

UNEXPECTED = -1
"""The reference's error code for malformed requests."""


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
        try:
            request = SignatureRequest.FromString(payload)
        except DecodeError as error:
            words = f"failed to unmarshal request: proto: {error}"
            raise SignatureRefused(UNEXPECTED, words) from error
        try:
            message = warp.parse_unsigned(request.message)
        except CodecError as error:
            words = f"failed to parse warp unsigned message: {error}"
            raise SignatureRefused(UNEXPECTED, words) from error
        try:
            verify_signable(
                message,
                request.justification,
                self._chain.state(),
                self._chain.node.network_id,
                parse_justification=_justification,
            )
        except UnsignableMessage as error:
            raise SignatureRefused(error.code, str(error)) from error
        signature = bls.sign(self._secret, message.raw)
        return SignatureResponse(signature=signature).SerializeToString()


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
