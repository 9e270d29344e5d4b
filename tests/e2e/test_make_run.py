"""`make run`, as described in README.md."""

from primitives.keys import DEV_KEYS
from tests.e2e.conftest import MakeNode


def test_make_run_starts_a_node_and_prints_its_addresses(make_node: MakeNode) -> None:
    node = make_node(command=["make", "run"], prepared=False)
    node.start()
    assert node.rpc("eth_chainId") == hex(43112)
    said = node.log()
    node.stop()
    assert f"http://127.0.0.1:{node.port}/ext/bc/C/rpc" in said
    assert f"ws://127.0.0.1:{node.port}/ext/bc/C/ws" in said
    assert str(node.directory / "data" / "admin_password") in said
    for key in DEV_KEYS.values():
        assert key in said
