"""The RPC reference page in a real browser, on the running node."""

import json

from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import SCREENSHOTS, node_script


def test_methods_are_found_and_tried_on_a_desk_and_on_a_phone(node: CheckedNode) -> None:
    given = {"base": f"http://127.0.0.1:{node.port}", "screenshots": SCREENSHOTS}
    with node.client() as client:
        listed = client.call("rpc.discover")["methods"]
    found = node_script("run.mjs", "api_reference", "use", json.dumps(given))

    assert found["faults"] == found["wide"] == []
    assert found["all"] == found["again"] > len(listed) > 200
    assert {"eth", "debug", "anvil", "platform", "info", "health"} <= set(found["namespaces"])
    assert "eth_getAccountInfo" in found["chosen"]
    assert "info.peers" not in found["chosen"]
    assert found["counted"] == f"{len(found['chosen'])} of {found['all']}"
    assert "info" not in found["spaces"]
    assert found["filter"] == "", "a link leads to a method that the filter had hidden"
    assert json.loads(found["block"])["result"].startswith("0x")
    assert json.loads(found["network"])["result"] == {"networkName": "local"}
    assert json.loads(found["big"])["result"]["weights"] == [1, 1000, 1000, 4]
    assert json.loads(found["refused"])["error"]["code"] == -32602
    assert found["nonsense"].startswith("The params are not valid JSON")
    long = found["long"]
    assert long["isBegun"]
    assert 1 << 18 < long["length"] < 1 << 20
    assert long["words"].endswith(" more characters; run the call above in a shell to see all")
    assert found["named"]
    assert f"{given['base']}/ext/bc/C/rpc" in found["curl"]
