"""Messages that WebSocket tests send, and helpers that wait for their effects."""

import asyncio

import msgspec

from tests.integration.patience import SECONDS

NUMBER = '{"jsonrpc":"2.0","id":1,"method":"number"}'
NUMBER_ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x10"}'
PARSE_ERROR = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}'


def request(identifier: int, method: str, *params: object) -> str:
    call = {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}
    return msgspec.json.encode(call).decode()


async def until(condition) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.01)
