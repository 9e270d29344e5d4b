"""The examples of the API reference, replayed on a node: each response matches its method's schema and example.

This covers methods that change nothing; responses of the others were recorded in the same way. With RECORD_EXAMPLES
in the environment, missing responses are added to the file: those of new methods, which have only params yet.
"""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nodeproject.apps import this_node
from nodeproject.web import openrpc
from nodeproject.web.openrpc.arguments import NEEDED
from nodeproject.web.openrpc.entries import RESULTS
from platform_app.wallet import sealing
from platform_app.wallet.sealing import Cost
from tests.integration.conftest import Chain
from tests.integration.nodeproject.rpc_world import Names, make_world
from tests.integration.platform_app.conftest import PChain
from tests.unit.nodeproject.openrpc.described import OF_SUBNETS, faults

pytestmark = pytest.mark.sqlite_only

FILE = Path(openrpc.__file__).with_name("examples.json")
ABOUT_NOTHING = {
    "platform.getRewardUTXOs without txID", "platform.getTxStatus without txID",
    "platform.getMaxStakeAmount without nodeID",
}  # fmt: skip
"""Calls with the empty ID, which are answered nevertheless."""
RECORDS = bool(os.environ.get("RECORD_EXAMPLES"))


@pytest.fixture
def names(shared_pchain: PChain, shared_chain: Chain, monkeypatch: pytest.MonkeyPatch) -> Names:
    """Map the names in the examples to this test's chains, which are shared because a dump runs outside transactions."""
    monkeypatch.setattr(sealing, "COST", Cost(passes=1, memory=64, lanes=4))
    return make_world(shared_pchain, shared_chain)


def test_examples_have_the_documented_responses(names: Names) -> None:
    kept = json.loads(FILE.read_text())
    told = kept["examples"]
    renamed = [(text, names[what]) for what, text in kept["names"].items()]
    answers = dict(answered(told, renamed))
    if RECORDS:
        record(kept, answers, renamed)
    wrong = {
        name: found for name, one in answers.items() if (found := differs(name, told[name], one))
    }

    assert wrong == {}
    assert len(answers) > 150


def test_calls_without_a_required_parameter_are_refused(names: Names) -> None:
    kept = json.loads(FILE.read_text())
    renamed = [(text, names[what]) for what, text in kept["names"].items()]
    taken = [
        (f"{name} without {item}", name, item)
        for name, needed in NEEDED.items()
        if isinstance(kept["examples"][name]["params"], dict)
        for item in needed
    ]
    without = {
        what: {"params": less(kept["examples"][name]["params"], one), "method": name}
        for what, name, one in taken
    }
    answers = dict(answered(without, renamed))

    assert {what for what, answer in answers.items() if "error" not in answer} == ABOUT_NOTHING


def less(params: dict[str, Any], name: str) -> dict[str, Any]:
    return {one: value for one, value in params.items() if one != name}


def answered(
    examples: dict[str, Any], renamed: list[tuple[str, str]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the responses to read-only examples; they contain this node's names."""
    dispatchers = {
        method.name: endpoint.dispatcher
        for endpoint in this_node().endpoints.all()
        for method in endpoint.dispatcher.registry
    }
    for name, example in examples.items():
        if not example.get("changes") and name not in OF_SUBNETS:
            params = replaced(json.dumps(example["params"]), renamed)
            method = example.get("method", name)
            body = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'
            yield name, json.loads(dispatchers[method].answer(body.encode()) or b"")


def replaced(text: str, pairs: Iterable[tuple[str, str]]) -> str:
    for before, after in pairs:
        text = text.replace(before, after)
    return text


def differs(name: str, example: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    """Return the differences between a response and its example; members of the example must not be missing."""
    if "error" in answer or "error" in example:
        codes = [value.get("error", {}).get("code") for value in (example, answer)]
        return [] if codes[0] == codes[1] else [str(answer.get("error"))]
    result = answer["result"]
    if bool(result) != bool(example["result"]):
        return [f"{result!r:.100} instead of {example['result']!r:.100}"]
    return faults(RESULTS[name], result)


def record(
    kept: dict[str, Any], answers: dict[str, Any], renamed: Iterable[tuple[str, str]]
) -> None:
    """Write responses where none is recorded yet, one line for each method."""
    back = [(here, before) for before, here in renamed]
    for name, answer in answers.items():
        example = kept["examples"][name]
        if not {"result", "error"} & set(example):
            told = {value: answer[value] for value in ("result", "error") if value in answer}
            example.update(json.loads(replaced(json.dumps(told), back)))
    parts = (
        f'  "{part}": {{\n'
        + ",\n".join(
            f"    {json.dumps(name)}: {json.dumps(one, ensure_ascii=False)}"
            for name, one in kept[part].items()
        )
        + "\n  }"
        for part in ("names", "examples")
    )
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n")
