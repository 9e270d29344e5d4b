"""The base class of admin pages for rows that the node's connections to other nodes write."""

from django.conf import settings
from typing_extensions import override

from adminkit.read_only import IdentifierAdmin
from cchain_app.apps import evm_chain


class NetworkRowsAdmin(IdentifierAdmin):
    """An admin page for rows that only a node with a peer network has."""

    @override
    def is_used(self) -> bool:
        node = settings.NODE
        if node.common.profile == "production":  # the network is a process of its own
            return True
        return bool(node.peers.network) and evm_chain().fork is None
