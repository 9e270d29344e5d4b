"""The choice of a process's settings module, made before Django is loaded."""

import os

PROFILES = {
    "embedded": "nodeproject.settings.embedded",
    "production": "nodeproject.settings.production",
}


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
