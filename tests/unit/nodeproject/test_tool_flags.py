"""Anvil's and Hardhat's command lines: each of their flags is taken under its name, or refused with a reason."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nodeproject import cli
from nodeproject.settings.tool_flags import ALWAYS, REFUSED

KEPT = Path(__file__).parents[2] / "vectors" / "command_lines"
SAMPLES = {
    "--derivation-path": "m/44'/60'/0'/1/", "--hardfork": "cancun", "--fork-url": "http://127.0.0.1:1",
    "--rpc-url": "http://127.0.0.1:1", "--fork": "http://127.0.0.1:1", "-f": "http://127.0.0.1:1",
    "--fork-header": "a: b", "--fork-transaction-hash": "0x" + "12" * 32, "--gas-limit": "12000000",
    "--mnemonic-random": "15", "--allow-origin": "http://a.example", "--host": "127.0.0.1",
    "--hostname": "127.0.0.1", "--timeout": "700",
}  # fmt: skip
"""Valid values of flags that do not take `7`."""
SHOWN = {"-h", "--help", "-V", "--version"}
"""Flags that print something and end."""


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(KEPT.glob("*.json")):
        for row in json.loads(path.read_text()):
            for flag in row["flags"]:
                yield flag, row


def applied(*arguments: str) -> dict[str, str]:
    environ: dict[str, str] = {}
    cli.apply(arguments, environ, "node")
    return environ


@pytest.mark.parametrize(
    ("flag", "row"), [pytest.param(flag, row, id=flag) for flag, row in rows() if flag not in SHOWN]
)
def test_each_flag_is_taken_or_refused_with_a_reason(
    flag: str, row: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    values: list[list[str]] = []
    if row["value"] != "required":
        values.append([flag])
    if row["value"] != "none":
        values += [[flag, value] for value in row.get("values", [SAMPLES.get(flag, "7")])]
    taken = 0
    for arguments in values:
        try:
            changed = applied(*arguments)
        except SystemExit:
            assert " is not available here: " in capsys.readouterr().err
            assert flag in REFUSED or "values" in row
            continue
        taken += 1
        has_effect = bool(changed) or any(flag in options for options in ALWAYS)
        assert has_effect or "values" in row
    assert bool(taken) is (flag not in REFUSED)


def test_nothing_else_is_refused_than_flags_of_these_tools() -> None:
    assert set(REFUSED) <= {flag for flag, _ in rows()}


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--timeout", "1500"], {"NODE_FORK_TIMEOUT": "1.5"}),
        (["--fork-retry-backoff", "250"], {"NODE_FORK_RETRY_DELAY": "0.25"}),
        (["--compute-units-per-second", "330"], {"NODE_FORK_COMPUTE_UNITS": "330"}),
        (["--no-rate-limit"], {"NODE_FORK_COMPUTE_UNITS": "0"}),
        (["-j", "3"], {"NODE_RPC_THREADS": "3"}),
        (["--prune-history"], {"NODE_HISTORY_STATE": "1"}),
        (["--prune-history", "500"], {"NODE_HISTORY_STATE": "500"}),
        (["--preserve-historical-states"], {"NODE_HISTORY_STATE": "0"}),
        (["--number", "9"], {"NODE_GENESIS_NUMBER": "9"}),
        (["--md"], {"NODE_MARKDOWN": "true"}),
        (["--no-storage-caching"], {}),
        (["--max-persisted-states", "500"], {"NODE_HISTORY_STATE": "500"}),
        (["--transaction-block-keeper", "9"], {"NODE_CACHE_BLOCKS": "9"}),
        (["--ipc"], {"NODE_IPC": "/tmp/anvil.ipc"}),
        (["--ipc", "a.ipc"], {"NODE_IPC": "a.ipc"}),
        (["--ipcpath", "a.ipc"], {"NODE_IPC": "a.ipc"}),
        (["--mnemonic-random"], {"NODE_MNEMONIC_RANDOM": "12"}),
        (["--mnemonic-random", "24"], {"NODE_MNEMONIC_RANDOM": "24"}),
        (["--mnemonic-seed-unsafe", "7"], {"NODE_MNEMONIC_SEED": "7"}),
        (["--disable-pool-balance-checks"], {"NODE_POOL_BALANCE_CHECKS": "false"}),
        (["--no-cors"], {"NODE_ALLOWED_ORIGINS": ""}),
        (["--allow-origin", "https://a.example"], {"NODE_ALLOWED_ORIGINS": "https://a.example"}),
        (["--no-request-size-limit"], {"NODE_BODY_LIMIT": str(2**63 - 1)}),
        (["--json"], {"NODE_LOG_FORMAT": "json"}),
        (["--color", "never"], {"NODE_COLOR": "never"}),
        (["-vvv"], {"NODE_LOG_LEVEL": "DEBUG"}),
        (["--no-mine"], {"NODE_MINING": "manual"}),
        (["--no-create2"], {"NODE_CREATE2_DEPLOYER": "false"}),
        (["--disable-console-log"], {"NODE_CONSOLE_LOG": "false"}),
        (["--no-console-log"], {"NODE_CONSOLE_LOG": "false"}),
        (["--no-priority-fee"], {"NODE_SUGGEST_TIP": "false"}),
        (["--auto-unlock"], {"NODE_AUTO_IMPERSONATE": "true"}),
        (["--slots-in-an-epoch", "3"], {"NODE_SLOTS_IN_AN_EPOCH": "3"}),
        (["--print-traces"], {"NODE_PRINT_TRACES": "true"}),
        (["--enable-trace-printing"], {"NODE_PRINT_TRACES": "true"}),
        (["--enable-tx-gas-limit"], {"NODE_TX_GAS_LIMIT": "true"}),
        (["--tx-gas-limit"], {"NODE_TX_GAS_LIMIT": "true"}),
        (["--disable-block-gas-limit"], {"NODE_BLOCK_GAS_LIMIT": "false"}),
        (["--code-size-limit", "50000"], {"NODE_CODE_SIZE_LIMIT": "50000"}),
        (["--disable-code-size-limit"], {"NODE_CODE_SIZE_LIMIT": str(2**48)}),
        (["--memory-limit", "1048576"], {"NODE_MEMORY_LIMIT": "1048576"}),
        (["--cache-path", "d"], {"NODE_DATA_DIR": "d"}),
        (["-s", "5", "--dump-state", "d"], {"NODE_STATE_INTERVAL": "5", "NODE_DUMP_STATE": "d"}),
        (["--fork", "http://a", "--hostname", "::"], {"NODE_FORK_URL": "http://a", "NODE_HTTP_HOST": "::"}),
        (["-n", "ethereum"], {}),
        (["--network", "ethereum"], {}),
        (["--network=ethereum"], {}),
        (["--network"], {"NODE_NETWORK": "true"}),
        (["--chain-type", "l1"], {}),
        (
            ["--mixed-mining", "--block-time", "2"],
            {"NODE_MINING": "mixed", "NODE_BLOCK_INTERVAL": "2"},
        ),
    ],
)  # fmt: skip
def test_a_flag_is_the_setting_in_its_unit(arguments: list[str], wanted: dict[str, str]) -> None:
    assert applied(*arguments) == wanted


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--celo"], "--celo is not available here: the C-Chain has Ethereum's rules and no features of Celo"),
        (["-n", "optimism"], "optimism is not available here: the C-Chain has Ethereum's rules"),
        (["--network=tempo"], "tempo is not available here: the C-Chain has Ethereum's rules"),
        (["-n", "bitcoin"], "'bitcoin' was given; it must be one of ethereum, optimism, tempo"),
        (["--chain-type", "op"], "op is not available here"),
        (["--timeout", "x"], "'x' was given; it must be a whole number"),
        (["--timeout", "1"], "it must be a number, 0.1 or more"),
        (["--order", "random"], "it must be one of fees, fifo"),
        (["--mnemonic-random", "13"], "it must be 0, 12, 15, 18, 21 or 24"),
        (["--memory-limit=-1"], "'-1' was given; it must be a whole number from 0 to 68719476735"),
        (["--block-time", "2", "--no-mine"], "--block-time means --mining interval, but --mining manual"),
    ],
)  # fmt: skip
def test_unsupported_tool_flag_is_refused_with_the_reason(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        applied(*arguments)

    assert ended.value.code == 2
    assert words in capsys.readouterr().err
