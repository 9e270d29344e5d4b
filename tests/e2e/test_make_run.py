"""`make run`, as README.md says it to everybody."""

from pathlib import Path

from primitives.devkeys import DEV_KEYS
from tests.servers.node import RunningNode


def test_make_run_starts_a_node_and_says_where_everything_is(tmp_path: Path) -> None:
    with RunningNode(tmp_path / "made", command=["make", "run"]) as node:
        node.start()
        assert node.rpc("eth_chainId") == hex(43112)
        said = node.log()
        node.stop()
    assert node.url in said
    assert node.ws_url in said
    assert str(node.directory / "data" / "admin_password") in said
    for key in DEV_KEYS.values():
        assert key in said
