"""`manage.py shell` provides the node of its process, and a client of the running node."""

from typing import Any

import pytest
from django.core.management import call_command

from nodeproject.apps import this_node
from nodeproject.management.commands.shell import Command
from tests.integration.conftest import Chain


@pytest.mark.node_settings(http_host="0.0.0.0", http_port=9750)
@pytest.mark.usefixtures("node_settings")
def test_node_chains_and_a_client_are_at_hand() -> None:
    names = Command().get_namespace(verbosity=0)
    node: Any = this_node()

    assert names["node"] is node
    assert names["chain"] is node.evm_chain
    assert names["platform_chain"] is node.platform_chain
    assert names["w3"].provider.endpoint_uri == "http://127.0.0.1:9750/ext/bc/C/rpc"
    assert names["PoolTransaction"]._meta.app_label == "cchain_app"


def test_no_imports_option_imports_nothing() -> None:
    assert Command().get_namespace(verbosity=0, no_imports=True) == {}


def test_a_line_of_python_reads_the_chain(chain: Chain, capsys: pytest.CaptureFixture[str]) -> None:
    chain.do()

    call_command(
        "shell", command="print(chain.config.chain_id, Transaction.objects.count())", verbosity=0
    )

    assert capsys.readouterr().out == "43112 1\n"
