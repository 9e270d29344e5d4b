"""Fork IDs compared to EIP-2124 and go-ethereum, and the changes of forks compared to the specification."""

import json
from importlib import import_module

import pytest

from cchain_app.config import FORKS, ForkSchedule, parse_config
from cchain_app.evm.reference_package import load_fork
from cchain_app.forks import fork_id, precompiles, system_contracts
from primitives.evm import Hash
from tests.conformance.openrpc import DOCUMENT

MAINNET_HASH = Hash(
    bytes.fromhex("d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3")
)
MAINNET_BLOCKS = {
    "homesteadBlock": 1_150_000, "daoForkBlock": 1_920_000, "eip150Block": 2_463_000,
    "eip155Block": 2_675_000, "eip158Block": 2_675_000, "byzantiumBlock": 4_370_000,
    "constantinopleBlock": 7_280_000, "petersburgBlock": 7_280_000, "istanbulBlock": 9_069_000,
    "muirGlacierBlock": 9_200_000, "berlinBlock": 12_244_000, "londonBlock": 12_965_000,
    "arrowGlacierBlock": 13_773_000, "grayGlacierBlock": 15_050_000,
}  # fmt: skip
MAINNET_TIMES = {
    "shanghaiTime": 1_681_338_455, "cancunTime": 1_710_338_135, "pragueTime": 1_746_612_311,
    "osakaTime": 1_764_798_551, "bpo1Time": 1_765_290_071, "bpo2Time": 1_767_747_671,
}  # fmt: skip
IDS_BY_TIME = [
    (0, "f0afd0e3"), (1_681_338_454, "f0afd0e3"), (1_681_338_455, "dce96c2d"),
    (1_710_338_135, "9f3d2254"), (1_746_612_311, "c376cf8b"), (1_764_798_551, "5167e2a6"),
    (1_765_290_071, "cba2a1c0"), (1_767_747_671, "07c9462e"),
]  # fmt: skip
IDS_BY_BLOCK = [
    "fc64ec04", "97c2c34c", "91d1f948", "7a64da13", "3edd5b10", "a00bc324", "668db0af", "879d6e30",
    "e029e991", "0eb440f6", "b715077d", "20c327fc", "f0afd0e3",
]  # fmt: skip
"""Without forks, then with one more block number each (EIP-2124, and later EIPs with its format)."""


def schedule(blocks: dict[str, int], times: dict[str, int] | None = None) -> ForkSchedule:
    return parse_config({"chainId": 1, **blocks, **(times or {})}).schedule


@pytest.mark.parametrize(("time", "expected"), IDS_BY_TIME)
def test_mainnet_s_fork_ids_by_time(time: int, expected: str) -> None:
    forks = schedule(MAINNET_BLOCKS, MAINNET_TIMES)

    assert fork_id(forks, MAINNET_HASH, 0, time=time).hex() == expected


@pytest.mark.parametrize(("count", "expected"), list(enumerate(IDS_BY_BLOCK)))
def test_mainnet_s_fork_ids_by_block(count: int, expected: str) -> None:
    begun = sorted(set(MAINNET_BLOCKS.values()))[:count]
    forks = schedule({key: block for key, block in MAINNET_BLOCKS.items() if block in begun})

    assert fork_id(forks, MAINNET_HASH, 0, time=0).hex() == expected


def test_forks_of_the_genesis_do_not_count() -> None:
    at_first = dict.fromkeys(MAINNET_BLOCKS, 0)
    times = {"shanghaiTime": 5, "cancunTime": 10, "pragueTime": 10, "osakaTime": 20}
    forks = schedule(at_first, times)
    of_genesis_alone = fork_id(schedule({}), MAINNET_HASH, 10, time=10)

    assert fork_id(forks, MAINNET_HASH, 10, time=19) == of_genesis_alone
    assert fork_id(forks, MAINNET_HASH, 10, time=20) != of_genesis_alone


def test_fork_id_counts_simultaneous_forks_once() -> None:
    blocks = dict.fromkeys(MAINNET_BLOCKS, 0)
    both = schedule(blocks, {"shanghaiTime": 30, "cancunTime": 30})
    one = schedule(blocks, {"shanghaiTime": 30})

    assert fork_id(both, MAINNET_HASH, 0, time=30) == fork_id(one, MAINNET_HASH, 0, time=30)


@pytest.mark.parametrize("fork", FORKS)
def test_precompiles_are_those_of_the_executable_specification(fork: str) -> None:
    package = load_fork(fork).vm.__name__
    known = import_module(f"{package}.precompiled_contracts.mapping")

    found = {bytes(address) for address in precompiles(fork).values()}
    assert found == {bytes(address) for address in known.PRE_COMPILED_CONTRACTS}


def test_names_are_those_of_the_published_example() -> None:
    document = json.loads(DOCUMENT.read_text())
    (method,) = [item for item in document["methods"] if item["name"] == "eth_config"]
    example = method["examples"][0]["result"]["value"]["current"]

    for shown, found in (
        (example["precompiles"], precompiles("prague")),
        (example["systemContracts"], system_contracts("prague")),
    ):
        assert {name: "0x" + address.hex() for name, address in found.items()} == shown
        assert list(found) == sorted(found)


@pytest.mark.parametrize(
    ("fork", "names"), [("shanghai", []), ("cancun", ["BEACON_ROOTS_ADDRESS"])]
)
def test_system_contracts_depend_on_the_fork(fork: str, names: list[str]) -> None:
    assert list(system_contracts(fork)) == names
