"""Other logins to the admin by settings of a site's own, exactly as docs/logins.md has them."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.servers.node import ROOT

pytestmark = pytest.mark.sqlite_only

SECONDS = 180.0
DOCUMENT = (ROOT / "docs/logins.md").read_text()
BLOCK = re.compile(r"`/etc/node/(\w+\.py)`(?:(?!```).)*```python\n(.*?)```", re.DOTALL)

BEGIN = """
import json, os, sys
from nodeproject.startup.profile import choose_settings
choose_settings()
import django
django.setup()
from django.test import Client
from django.contrib.auth.models import User
client = Client()
PASSWORD = open(os.path.join(os.environ["NODE_DATA_DIR"], "admin_password")).read().strip()

def login(**fields):
    fields = {"username": "admin", "password": PASSWORD, "next": "/admin/", **fields}
    return client.post("/admin/login/", fields)

said = {}
page = client.get("/admin/login/")
said["status"], said["page"] = page.status_code, page.content.decode()
"""
END = "\nprint(json.dumps(said))\n"

Ask = Callable[[str], Mapping[str, object]]


def section(title: str, *packages: str) -> dict[str, str]:
    """Return the files of a section by name; skip the test if a package is missing."""
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    _, _, text = DOCUMENT.partition(f"\n## {title}\n")
    files = dict(BLOCK.findall(text.partition("\n## ")[0]))
    assert "site_settings.py" in files
    return files


@pytest.fixture
def site(tmp_path: Path) -> Callable[[dict[str, str]], Ask]:
    """Return a function that installs files of settings and returns one that runs lines in such a process."""

    def install(files: dict[str, str]) -> Ask:
        home = tmp_path / "etc"
        home.mkdir()
        (home / "oidc.secret").write_text("a secret\n")
        for name, text in files.items():
            embedded = text.replace("settings.production", "settings.embedded")
            (home / name).write_text(embedded.replace("/etc/node/", f"{home}/"))
        kept = {name: text for name, text in os.environ.items() if not name.startswith("NODE_")}
        env = kept | {
            "NODE_DATA_DIR": str(tmp_path / "data"),
            "DJANGO_SETTINGS_MODULE": "site_settings",
            "PYTHONPATH": str(home),
        }

        def run(*command: str) -> str:
            done = subprocess.run(
                [sys.executable, *command],
                cwd=ROOT,
                env=env,
                capture_output=True,
                text=True,
                check=False,
                timeout=SECONDS,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        run("manage.py", "init_node")
        codes = run("manage.py", "addstatictoken", "admin") if "django_otp" in str(files) else ""

        def ask(lines: str) -> Mapping[str, object]:
            code = f"CODE = {codes.strip()!r}\n{BEGIN}{lines}{END}"
            found: Mapping[str, object] = json.loads(run("-c", code).splitlines()[-1])
            return found

        return ask

    return install


def test_a_second_factor_is_needed_and_enough(site: Callable[[dict[str, str]], Ask]) -> None:
    ask = site(section("Second factor", "django_otp"))

    said = ask(
        """
said["without"] = [login().status_code, login().content.decode()]
said["wrong"] = [login(otp_token="wrong").status_code, client.get("/admin/").status_code]
from django_otp.plugins.otp_static.models import StaticDevice
StaticDevice.objects.get().throttle_reset()
Client.force_login(client, User.objects.get(username="admin"))
said["verified by nothing"] = client.get("/admin/").status_code
client.logout()
said["right"] = [login(otp_token=CODE).status_code, client.get("/admin/").status_code]
said["devices"] = [client.get(f"/admin/otp_{kind}/{kind}device/add/").status_code for kind in ("totp", "static")]
from django_otp.plugins.otp_totp.models import TOTPDevice
TOTPDevice.objects.create(user=User.objects.get(username="admin"), name="Phone of the admin")
client.logout()
said["several"] = login(otp_token=CODE).content.decode()
"""
    )

    assert said["status"] == 200
    assert 'name="otp_token"' in str(said["page"])
    assert 'type="hidden" name="otp_device"' in str(said["page"])
    status, text = said["without"]  # type: ignore[misc]
    assert status == 200
    assert "Please enter your OTP token." in text
    assert said["wrong"] == [200, 302]
    assert said["verified by nothing"] == 302
    assert said["right"] == [302, 200]
    assert said["devices"] == [200, 200]
    assert "Phone of the admin" in str(said["several"])
    assert '<select name="otp_device"' in str(said["several"])


def test_single_sign_on_leads_to_the_provider(site: Callable[[dict[str, str]], Ask]) -> None:
    ask = site(section("OpenID Connect", "mozilla_django_oidc"))

    said = ask(
        """
asked = client.get("/oidc/authenticate/?next=/admin/")
said["provider"] = [asked.status_code, asked["Location"]]
said["password"] = [login().status_code, client.get("/admin/").status_code]
from django.conf import settings
from django.utils.module_loading import import_string
backend = import_string(settings.AUTHENTICATION_BACKENDS[0])()
claims = {"email": "a@example.com", "sub": "a"}
said["allowed"] = [bool(backend.verify_claims(claims)), bool(backend.verify_claims(claims | {"groups": ["node"]}))]
said["staff"] = backend.create_user(claims).is_staff
"""
    )

    assert said["status"] == 200
    assert 'href="/oidc/authenticate/?next=' in str(said["page"])
    status, address = said["provider"]  # type: ignore[misc]
    assert status == 302
    assert address.startswith("https://login.example.com/authorize?")
    assert said["password"] == [302, 200]
    assert said["allowed"] == [False, True]
    assert said["staff"] is True


def test_local_passwords_work_during_an_ldap_outage(
    site: Callable[[dict[str, str]], Ask],
) -> None:
    files = section("LDAP", "django_auth_ldap", "ldap")
    files["site_settings.py"] += '\nAUTH_LDAP_SERVER_URI = "ldap://127.0.0.1:1"\n'
    ask = site(files)

    said = ask(
        """
said["password"] = [login().status_code, client.get("/admin/").status_code]
client.logout()
said["wrong"] = [login(username="eve", password="x").status_code for _ in range(4)]
"""
    )

    assert said["status"] == 200
    assert said["password"] == [302, 200]
    assert said["wrong"] == [200, 200, 429, 429]  # both backends count
