"""The choice of a process's settings module and of its system checks, made before Django is loaded."""

import os
from typing import Final

PROFILES = {
    "embedded": "nodeproject.settings.embedded",
    "production": "nodeproject.settings.production",
}

CHECKS: Final = ("node",)
"""The tag of the node's own system checks (`checks.py`), which its commands run.

Django's own checks examine code, which only changes with a release, and URLs, which loads all pages; `make lint`
runs them.
"""


class UnknownProfile(SystemExit):
    """NODE_PROFILE names neither of the two profiles: the process ends with the message."""


def choose_settings() -> None:
    """Set DJANGO_SETTINGS_MODULE from NODE_PROFILE, unless it is set already.

    Raises:
        UnknownProfile: The environment names a profile that does not exist.
    """
    given = os.environ.get("NODE_PROFILE", "embedded")
    profile = given.strip().casefold()
    if profile not in PROFILES:
        raise UnknownProfile(f"NODE_PROFILE is {given!r}; it must be one of {', '.join(PROFILES)}")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", PROFILES[profile])
