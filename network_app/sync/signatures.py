"""Requests for the signatures of warp messages to peers (ACP-118; p2p.md 8)."""

from collections.abc import Collection, Mapping

from google.protobuf.message import DecodeError

from network_app.sync.messages import SIGNATURE_REQUEST, with_handler
from network_app.sync.requests import Requests, ask_each
from network_app.wire.p2p_pb2 import AppRequest, AppResponse
from network_app.wire.sdk_pb2 import SignatureResponse
from primitives.ids import NodeID


async def ask_signatures(
    requests: Requests, payload: bytes, node_ids: Collection[NodeID]
) -> Mapping[NodeID, bytes]:
    """Return the signatures of those nodes that sign; they are not verified here.

    Args:
        requests: The requests of the message's source chain.
        payload: A SignatureRequest.
        node_ids: The nodes to ask; those that are not connected do not answer.
    """

    async def ask(node_id: NodeID) -> bytes | None:
        request = AppRequest(app_bytes=with_handler(SIGNATURE_REQUEST, payload))
        # A peer that refuses to sign is not at fault.
        answer = await requests.ask(node_id, request, AppResponse, counts=False)
        if answer is None:
            return None
        try:
            return SignatureResponse.FromString(answer.app_bytes).signature
        except DecodeError:
            return None

    asked = list(node_ids)
    answers = await ask_each(ask, asked)
    return {
        node_id: answer
        for node_id, answer in zip(asked, answers, strict=True)
        if answer is not None
    }
