"""Users of the keystore, with a cheaper password hash than in operation."""

import pytest

from nodeproject.apps import this_node
from platform_app.wallet import sealing
from platform_app.wallet.sealing import Cost
from primitives.keys import EWOQ_KEY, format_private_key
from tests.integration.platform_app.conftest import PChain, Rpc, asking

USER = {"username": "alice", "password": "a long and varied passphrase 7"}
EWOQ_TEXT = "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"


@pytest.fixture
def keystore(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> Rpc:
    """Call a method of `keystore.*`."""
    monkeypatch.setattr(sealing, "COST", Cost(passes=1, memory=64, lanes=4))
    return asking(this_node().endpoints.keystore.dispatcher)


@pytest.fixture
def alice(keystore: Rpc, rpc: Rpc) -> dict[str, str]:
    """A user with ewoq's key: name and password, as params of methods."""
    keystore("keystore.createUser", **USER)
    rpc("platform.importKey", **USER, privateKey=format_private_key(EWOQ_KEY))
    return USER
