"""The P-Chain that this process runs: its parameters, and which node this is, by the settings."""

import ssl
from functools import cache

from django.conf import settings

from platform_app.config import PlatformConfig, reference_config, specification_config
from primitives.identity import node_id_of
from primitives.ids import NodeID


@cache
def config() -> PlatformConfig:
    """Return the parameters of this network, from the set that NODE_PARAMETERS names."""
    node = settings.NODE
    if node.parameters == "avalanchego":
        return reference_config(node.network_id)
    return specification_config(node.network_id)


def answers_as_reference() -> bool:
    """Whether answers have the reference's shape where the specification's is another one.

    So it is with the reference's parameters: who takes part in its networks uses its clients.
    """
    return bool(settings.NODE.parameters == "avalanchego")


@cache
def node_id() -> NodeID:
    """Return this node's ID, from its staking certificate.

    Raises:
        OSError: There is no such file: the node has not been initialised.
        ValueError: The file holds no certificate.
    """
    return node_id_of(ssl.PEM_cert_to_DER_cert(settings.NODE.certificate_path.read_text()))
