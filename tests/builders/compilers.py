"""Compilers that replay recorded outputs of the real ones.

Outputs are recorded by the hash of the input, so only exactly the same input is known.

    python -m tests.builders.compilers

runs conformance tests with the compilers of tests/clients (npm's packages) and records their outputs.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from explorer_app.services.compiling import CompilationLimits, NpmCompilers
from explorer_app.verification.compilers import CompilerOutput, CompilerVersion

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "tests/clients"
RECORDED = ROOT / "tests/vectors/explorer/compilations.json"
RECORD = "RECORD_COMPILATIONS"
VERSIONS = ("0.4.26", "0.8.19", "0.8.20", "0.8.24", "0.8.28", "0.8.37")
LIMITS = CompilationLimits(60.0, 2_000_000_000)


class RecordedCompilers(NpmCompilers):
    """Compilers that return recorded outputs."""

    def __init__(self, *versions: str) -> None:
        super().__init__(None, LIMITS)
        self._known: dict[str, Any] = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
        self._versions = [CompilerVersion.parse(version) for version in versions or VERSIONS]
        self.compiled = 0
        """The number of requested compilations."""

    def versions(self) -> list[CompilerVersion]:
        """Return the available versions."""
        return sorted((version._replace(commit="") for version in self._versions), reverse=True)

    def require(self, version: CompilerVersion) -> Path:
        """Return a path for an available version."""
        if any(item.number == version.number for item in self._versions):
            return ROOT
        return super().require(version)

    def compile(self, version: CompilerVersion, text: bytes, *, until: float) -> CompilerOutput:
        """Return the recorded output of an input."""
        self.require(version)
        self.compiled += 1
        digest = hashlib.sha256(text).hexdigest()
        if digest not in self._known and RECORD in os.environ:
            self._record(digest, version, text)
        found = self._known[digest]
        return CompilerOutput(CompilerVersion.parse(found["version"]), found["output"])

    def _record(self, digest: str, version: CompilerVersion, text: bytes) -> None:
        real = NpmCompilers(CLIENTS, LIMITS)
        made = real.compile(version, text, until=time.monotonic() + LIMITS.seconds)
        errors = [item for item in made.output.get("errors", ()) if item["severity"] == "error"]
        output = {"contracts": made.output.get("contracts", {})}
        if errors:
            output["errors"] = errors
        self._known[digest] = {"version": made.version.long, "output": output}
        RECORDED.write_text(json.dumps(self._known, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    RECORDED.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "tests/conformance/explorer_app",
               "tests/integration/explorer_app", "-k", "not postgresql"]  # fmt: skip
    sys.exit(subprocess.run(command, env={**os.environ, RECORD: "1"}, check=False).returncode)
