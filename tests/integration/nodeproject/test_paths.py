"""Paths of this process: the OpenAPI page, and WebSockets where there are none."""

import json
from typing import Any

import pytest
from django.test import Client

from tests.integration.patience import PatientCommunicator


@pytest.fixture
def client(db: None, node_settings: Any) -> Client:
    return Client(headers={"host": "localhost"})


def test_the_openapi_page_needs_nobody_elsewhere(client: Client) -> None:
    page = client.get("/ext/docs/paths")

    assert page.status_code == 200
    assert b"https://" not in page.content


def test_the_openapi_document_shows_a_call_to_try(client: Client) -> None:
    document = json.loads(client.get("/ext/openapi.json").content)

    operation = document["paths"]["/ext/bc/C/rpc"]["post"]
    example = operation["requestBody"]["content"]["application/json"]["example"]
    answer = client.post("/ext/bc/C/rpc", example, content_type="application/json")
    assert answer.status_code == 200
    operations = [
        one["operationId"] for path in document["paths"].values() for one in path.values()
    ]
    assert len(operations) == len(set(operations))


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("path", ["/ext/bc/C/nope", "/ext/bc/C/rpc", "/admin/"])
async def test_a_websocket_where_there_is_none_is_refused(path: str) -> None:
    from nodeproject.asgi import application

    communicator = PatientCommunicator(application, path)

    connected, _ = await communicator.connect()

    assert not connected
