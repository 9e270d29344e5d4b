"""Compile the validator manager: writes explorer_app/managers/ValidatorManager.json beside its source.

Needs Node.js and the npm packages of tests/clients (`npm ci` there). A test compares the file with a new compilation.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NAME = "ValidatorManager"
SOURCE = ROOT / "explorer_app" / "managers" / f"{NAME}.sol"
ARTIFACT = SOURCE.with_suffix(".json")
SETTINGS = {
    "evmVersion": "shanghai",  # the oldest rules of a chain with warp messages
    "optimizer": {"enabled": True, "runs": 200},
    "metadata": {"bytecodeHash": "none", "appendCBOR": False},
}


def compiled() -> dict[str, Any]:
    """Return the content of the file.

    Raises:
        SystemExit: The compiler is missing, or refuses the source.
    """
    wanted = {"*": {NAME: ["abi", "evm.deployedBytecode.object", "storageLayout"]}}
    given = {
        "language": "Solidity",
        "sources": {SOURCE.name: {"content": SOURCE.read_text()}},
        "settings": {**SETTINGS, "outputSelection": wanted},
    }
    script = ROOT / "explorer_app" / "services" / "compile.cjs"
    package = ROOT / "tests" / "clients" / "node_modules" / "solc"
    done = subprocess.run(  # noqa: S603  # both paths are this checkout's
        ["node", str(script), str(package)],  # noqa: S607  # as in the Makefile
        input=json.dumps(given).encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    answer = json.loads(done.stdout)
    problems = [one["formattedMessage"] for one in answer["output"].get("errors", ())]
    if problems:
        raise SystemExit("\n".join(problems))
    contract = answer["output"]["contracts"][SOURCE.name][NAME]
    return {
        "compiler": answer["version"],
        "settings": SETTINGS,
        "slots": {one["label"]: int(one["slot"]) for one in contract["storageLayout"]["storage"]},
        "abi": contract["abi"],
        "deployedBytecode": f"0x{contract['evm']['deployedBytecode']['object']}",
    }


if __name__ == "__main__":
    ARTIFACT.write_text(json.dumps(compiled(), indent=1) + "\n")
