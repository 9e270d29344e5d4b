"""What only the reference engine does: its errors, and no global side effects; its results are in tests/unit."""

import subprocess
import sys
from dataclasses import replace

import pytest

from cchain_app.evm.reference import ReferenceEngine
from cchain_app.evm.reference_package import UnknownForkError
from primitives.evm import Address
from tests.builders import bytecode
from tests.builders.cchain import (
    MemoryState,
    block_env,
    call_message,
    genesis_state,
)

ENGINE = ReferenceEngine()
CONTRACT = Address(b"\xc0" * 20)


def with_code(code: bytes) -> MemoryState:
    state = genesis_state()
    state.put(CONTRACT, code=code, nonce=1)
    return state


def test_an_unknown_fork_is_an_error() -> None:
    env = replace(block_env(), fork="atlantis")
    with pytest.raises(UnknownForkError, match=r"^unknown fork atlantis$"):
        ENGINE.call(env, call_message(CONTRACT), genesis_state())


def test_calls_nest_to_the_limit_of_the_evm() -> None:
    state = with_code(bytecode.RECURSION)
    before = sys.getrecursionlimit()
    result = ENGINE.call(block_env(), call_message(CONTRACT, gas=10**15), state)
    assert result.error is None
    assert sys.getrecursionlimit() == before


_SCRIPT = """
import sys
limit = sys.getrecursionlimit()
from cchain_app.evm.reference import ReferenceEngine
assert not any(name.startswith("ethereum.forks") for name in sys.modules)
assert sys.getrecursionlimit() == limit
from cchain_app.evm.reference_package import load_fork
load_fork("osaka")
assert "py_ecc" in sys.modules
assert sys.getrecursionlimit() == limit, sys.getrecursionlimit()
"""


def test_importing_the_engine_leaves_the_recursion_limit_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
