"""Selection of an engine by name, and use of the reference engine in several threads."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from cchain_app.evm import select
from cchain_app.evm.reference import ReferenceEngine
from cchain_app.evm.select import (
    EngineReason,
    EngineSelectionError,
    select_engine,
    select_recovery,
    select_trie,
)
from cchain_app.evm.trie_python import PythonStateTrie
from primitives.evm import Address
from primitives.secp256k1 import recover_many
from tests.builders import bytecode
from tests.builders.cchain import block_env, call_message, genesis_state
from tests.builders.reasons import raises

CHOOSERS = (select_engine, select_trie, select_recovery)


@pytest.fixture
def without_native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "has_native", lambda: False)


def test_the_reference_is_had_by_name() -> None:
    assert isinstance(select_engine("reference"), ReferenceEngine)
    assert isinstance(select_trie("reference"), PythonStateTrie)
    assert select_recovery("reference") is recover_many


def test_auto_is_native_where_it_was_built() -> None:
    assert select_engine("auto").name == "revm"
    assert type(select_trie("auto")).__name__ == "NativeStateTrie"
    assert select_recovery("auto") is not recover_many


@pytest.mark.usefixtures("without_native")
def test_auto_is_the_reference_where_native_was_not_built() -> None:
    assert select_engine("auto").name == "ethereum-execution"
    assert isinstance(select_trie("auto"), PythonStateTrie)
    assert select_recovery("auto") is recover_many


@pytest.mark.usefixtures("without_native")
@pytest.mark.parametrize("choose", CHOOSERS)
def test_native_that_was_not_built_is_an_error(choose: object) -> None:
    with raises(
        EngineReason.NATIVE_NOT_BUILT,
        kind=EngineSelectionError,
        match=r"^the native engine was not built; `make",
    ):
        choose("native")  # type: ignore[operator]


@pytest.mark.parametrize("choose", CHOOSERS)
def test_the_reference_that_was_not_installed_is_an_error(
    choose: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(select, "has_reference", lambda: False)

    with raises(
        EngineReason.REFERENCE_NOT_INSTALLED,
        kind=EngineSelectionError,
        match=r"the reference engine is not installed: pip install 'nunatak\[reference\]' && pip",
    ):
        choose("reference")  # type: ignore[operator]


@pytest.mark.usefixtures("without_native")
@pytest.mark.parametrize("choose", CHOOSERS)
def test_auto_without_any_engine_is_an_error(
    choose: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(select, "has_reference", lambda: False)

    with raises(
        EngineReason.REFERENCE_NOT_INSTALLED,
        kind=EngineSelectionError,
        match=r"^the reference engine is not installed",
    ):
        choose("auto")  # type: ignore[operator]


@pytest.mark.parametrize("choose", CHOOSERS)
def test_another_name_is_an_error(choose: object) -> None:
    with raises(
        EngineReason.UNKNOWN,
        kind=EngineSelectionError,
        match=r"^no engine named geth; there are auto, native, reference$",
    ):
        choose("geth")  # type: ignore[operator]


def test_calls_in_several_threads_do_not_see_each_other() -> None:
    """One call collects accesses, one fails, one completes: each returns its own result."""
    state = genesis_state()
    addresses = [Address(bytes([number]) * 20) for number in (0xA1, 0xA2, 0xA3)]
    for address, code in zip(
        addresses, (bytecode.COUNTER, bytecode.BAD_JUMP, bytecode.SURROUNDINGS), strict=True
    ):
        state.put(address, code=code, nonce=1)
    engine = ReferenceEngine()

    def run(number: int) -> tuple[str | None, object]:
        result = engine.call(
            block_env(), call_message(addresses[number % 3]), state, with_access_list=True
        )
        return result.error, result.access_list

    alone = [run(number) for number in range(3)]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(run, range(60)))
    assert together == alone * 20
    assert [error for error, _ in alone] == [None, "invalid jump destination", None]
