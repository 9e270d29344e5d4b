"""Which node this process is of, where a test wants it to be a certain one."""

from dataclasses import replace

import pytest
from django.apps import apps
from django.conf import settings

from chaindb.database import Database
from platform_app.apps import platform_chain
from platform_app.chain import PlatformChain
from primitives.ids import NodeID


def be(monkeypatch: pytest.MonkeyPatch, node_id: NodeID | None) -> None:
    """Be a node, whatever settings change; None: one without a certificate, not initialised yet."""
    if node_id is None:
        chain = PlatformChain(replace(settings.NODE, staking_cert_file="/nowhere"), Database())
        monkeypatch.setattr(apps.get_app_config("platform_app"), "_chain", chain)
    else:
        monkeypatch.delitem(vars(platform_chain()), "node_id", raising=False)
        monkeypatch.setattr(PlatformChain, "node_id", node_id)
