"""Both chains for what looks at both."""

from tests.integration.platform_app.conftest import nothing_remembered, pchain, shared_pchain

__all__ = ["nothing_remembered", "pchain", "shared_pchain"]
