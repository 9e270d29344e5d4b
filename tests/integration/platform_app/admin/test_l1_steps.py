"""The steps of an L1's life in the admin: forms that issue transactions with a keystore user's keys."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from platform_app.apps import platform_chain
from platform_app.config import UNIT
from platform_app.models import Blockchain, L1Validator
from platform_app.services import keystore
from platform_app.txs.warp import initial_validation_id
from platform_app.wallet import sealing
from platform_app.wallet.sealing import Cost
from primitives.ids import ID, NodeID
from primitives.keys import EWOQ_KEY
from tests.builders import platform
from tests.integration.platform_app.conftest import PChain

EWOQ_TEXT = "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"
USER = {"username": "alice", "password": "a long and varied passphrase 7"}
SECOND = NodeID(b"s" * 20)

Step = Callable[..., ID]


def texts(given: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in {**USER, **given}.items()}


@pytest.fixture(autouse=True)
def alice(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> None:
    """A keystore user with ewoq's key."""
    monkeypatch.setattr(sealing, "COST", Cost(passes=1, memory=64, lanes=4))
    keystore.create_user(platform_chain(), USER["username"], USER["password"])
    keystore.import_key(platform_chain(), USER["username"], USER["password"], EWOQ_KEY)


@pytest.fixture
def step(pchain: PChain, admin_client: Client) -> Step:
    """Take a step, and make the block with its transaction; return the transaction's ID."""

    def step(name: str, /, **given: Any) -> ID:
        answer = admin_client.post(f"/admin/l1/{name}/", texts(given))
        assert answer.status_code == HTTPStatus.FOUND, answer.context["form"].errors
        pchain.wait(1)
        words = LogEntry.objects.latest("id").change_message
        assert USER["password"] not in words
        return ID.parse(words.removeprefix("Transaction ").removesuffix(" is issued."))

    return step


def errors(client: Client, name: str, /, **given: Any) -> dict[str, list[str]]:
    answer = client.post(f"/admin/l1/{name}/", texts(given))
    assert answer.status_code == HTTPStatus.OK
    assert USER["password"] not in answer.content.decode()
    return dict(answer.context["form"].errors)


def test_the_life_of_an_l1_in_the_admin(step: Step, admin_client: Client) -> None:
    subnet = step("subnet", control_keys=EWOQ_TEXT, threshold=1)
    chain = step("blockchain", subnet_id=subnet, name="Mine", vm="subnetevm", genesis="{}")
    assert Blockchain.objects.get(subnet_id=subnet).pk == chain
    step(
        "convert",
        subnet_id=subnet,
        manager_chain_id="C",
        manager_address="0x" + "09" * 20,
        weight=100,
        balance="2.5",
    )
    own = L1Validator.objects.get()
    assert own.pk == initial_validation_id(subnet, 0)
    assert (own.node_id, own.weight) == (platform_chain().node_id, 100)
    assert own.end_accumulated_fee >= 2.5 * UNIT

    proof = platform.proof_of_possession(2)
    step(
        "register",
        subnet_id=subnet,
        node_id=SECOND,
        weight=20,
        balance="",
        public_key=proof.public_key.hex(),
        proof=proof.proof_of_possession.hex(),
    )
    second = L1Validator.objects.get(node_id=SECOND)
    assert not second.is_active
    step("balance", validation_id=second.pk, balance="0.5")
    step("weight", validation_id=second.pk, weight=21)
    second.refresh_from_db()
    assert (second.is_active, second.weight) == (True, 21)
    page = admin_client.get(f"/admin/platform_app/l1validator/{second.pk}/change/").content.decode()
    for name in ("balance", "weight", "disable"):
        assert f"/admin/l1/{name}/?validation_id={second.pk}" in page
    shown = admin_client.get(f"/admin/l1/disable/?validation_id={second.pk}").content.decode()
    assert f'value="{second.pk}"' in shown
    step("disable", validation_id=second.pk)
    second.refresh_from_db()
    assert not second.is_active
    step("weight", validation_id=second.pk, weight=0)
    assert L1Validator.objects.get(pk=second.pk).removed_height is not None


def test_what_cannot_be_done_is_said_in_the_form(pchain: PChain, admin_client: Client) -> None:
    nobody = platform.some_id("nobody")
    everywhere = "__all__"
    assert errors(admin_client, "disable", validation_id=nobody) == {
        everywhere: [
            f"Refused: couldn't create tx: failed to fetch L1 validator {nobody}: not found"
        ]
    }
    assert errors(admin_client, "disable", validation_id="x") == {
        "validation_id": ["“x” is not a validation ID."]
    }
    assert errors(admin_client, "subnet", control_keys="P-nobody", threshold=1) == {
        "control_keys": ["“P-nobody” is not an address of the P-Chain."]
    }
    assert errors(admin_client, "balance", validation_id=nobody, balance="0.0000001") == {
        "balance": ["A coin has at most 6 decimals."]
    }
    assert errors(admin_client, "balance", validation_id=nobody, balance="9" * 20) == {
        "balance": ["There are not so many coins."]
    }
    missing = ["This is needed if there is no message."]
    assert errors(admin_client, "weight") == {"validation_id": missing, "weight": missing}
    assert errors(admin_client, "register", weight=1) == {"subnet_id": missing}
    assert errors(admin_client, "weight", message="00") == {
        everywhere: [
            "Refused: couldn't create tx: error calculating complexity: couldn't unpack codec version"
        ]
    }
    conversion = {"subnet_id": nobody, "manager_chain_id": "C", "weight": 1}
    assert errors(admin_client, "convert", **conversion, manager_address="0x09") == {
        "manager_address": ["Expected length 20, got 1."]
    }
    for empty in ("", " ", "0x"):
        assert errors(admin_client, "convert", **conversion, manager_address=empty) == {
            "manager_address": ["This field is required."]
        }
    assert errors(admin_client, "convert", **conversion, manager_address="no") == {
        "manager_address": ["These are not hexadecimal digits."]
    }
    blockchain = {"subnet_id": nobody, "name": "x", "genesis": "{}"}
    assert errors(admin_client, "blockchain", **blockchain, vm="ä") == {
        "vm": ["This is no name of a VM, and no ID."]
    }
    wrong = {"validation_id": nobody, "weight": 1, "username": "bob"}
    assert errors(admin_client, "weight", **wrong)[everywhere] == [
        f"Refused: failed to fetch L1 validator {nobody}: not found"
    ]
    assert (
        "incorrect password"
        in errors(admin_client, "subnet", control_keys=EWOQ_TEXT, threshold=1, username="bob")[
            everywhere
        ][0]
    )
    assert admin_client.get("/admin/l1/nothing/").status_code == HTTPStatus.NOT_FOUND


def test_only_those_who_may_change_keystore_users_take_steps(
    pchain: PChain, client: Client
) -> None:
    assert client.get("/admin/l1/subnet/").status_code == HTTPStatus.FOUND
    client.force_login(User.objects.create_user("reader", is_staff=True))
    assert client.get("/admin/l1/subnet/").status_code == HTTPStatus.FORBIDDEN
    given = {**USER, "control_keys": EWOQ_TEXT, "threshold": 1}
    assert client.post("/admin/l1/subnet/", given).status_code == HTTPStatus.FORBIDDEN
