"""A chain with contracts to verify, an explorer with recorded compiler output, and a client of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client

from cchain_app.txs.transaction import contract_address
from explorer_app.services import verification
from explorer_app.site import Explorer
from nodeproject.apps import this_node
from primitives.evm import Address
from tests.builders.compilers import RecordedCompilers
from tests.builders.transactions import RECIPIENT, SENDER
from tests.conformance.explorer_samples import Sample
from tests.integration.conftest import Chain

GAS = 3_000_000
ME = "0x" + SENDER.hex()
TO = "0x" + RECIPIENT.hex()


@dataclass
class Explored:
    """A chain, accessed like an explorer's clients do."""

    chain: Chain
    client: Client = field(default_factory=lambda: Client(headers={"host": "localhost"}))

    @property
    def site(self) -> Explorer:
        """The explorer of this process."""
        return this_node().explorer

    def create(self, init_code: bytes) -> Address:
        """Create a contract, and return its address."""
        sent, block = self.chain.do(to=None, value=0, data=init_code, gas=GAS)
        (receipt,) = block.receipts
        assert receipt.succeeded
        return contract_address(sent.sender, sent.nonce)

    def deploy(self, name: str) -> Sample:
        """Deploy all contracts of a sample, step by step."""
        addresses: dict[str, str] = {}
        for step in Sample(name, {}).steps:
            init_code = Sample(name, addresses).init_code(step["name"])
            addresses[step["name"]] = self.create(init_code).hex()
        return Sample(name, addresses)

    def get(self, path: str = "/api", **params: object) -> Any:
        """Send a GET request, and return the decoded response."""
        return self.client.get(path, params).json()

    def post(self, path: str = "/api", **form: object) -> Any:
        """Send a form by POST, and return the decoded response."""
        return self.client.post(path, urlencoded(form), FORM).json()

    def form(self, found: Sample, **changes: str) -> dict[str, str]:
        """Return the form that submits a sample for verification."""
        fields = found.fields
        return {
            "module": "contract",
            "action": "verifysourcecode",
            "contractaddress": "0x" + found.addresses[fields["verify"]],
            "sourceCode": json.dumps(fields["standardJson"]),
            "codeformat": "solidity-standard-json-input",
            "contractname": fields["contractName"],
            "compilerversion": fields["compilerVersion"],
            "constructorArguements": fields["constructorArguments"],
            **changes,
        }

    def work(self) -> int:
        """Process the submitted verifications."""
        return verification.work(self.site, seconds=60)

    def verified(self, name: str) -> Sample:
        """Deploy a sample and have it verified."""
        found = self.deploy(name)
        guid = self.post(**self.form(found))["result"]
        assert self.work() == 1
        assert self.status(guid) == PASSED
        return found

    def status(self, guid: str) -> Mapping[str, Any]:
        """Return the status of a verification."""
        answer: Mapping[str, Any] = self.get(
            module="contract", action="checkverifystatus", guid=guid
        )
        return answer


FORM = "application/x-www-form-urlencoded"
PASSED = {"status": "1", "message": "OK", "result": "Pass - Verified"}


def refused(text: str) -> dict[str, str]:
    """Return Etherscan's error response with this message."""
    return {"status": "0", "message": "NOTOK", "result": text}


def urlencoded(form: Mapping[str, object]) -> str:
    """Return a form in the encoding of clients."""
    from urllib.parse import urlencode

    return urlencode(form)


@pytest.fixture
def explored(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> Explored:
    """The local chain, with recorded compiler output and without a background worker."""
    monkeypatch.setattr(this_node().explorer, "compilers", RecordedCompilers())
    return Explored(chain)


def account(explored: Explored, action: str, **params: object) -> Any:
    """Return the response of Etherscan's API to an action of its module `account`."""
    return explored.get(module="account", action=action, **params)
