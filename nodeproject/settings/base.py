"""Django settings that both profiles share."""

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any

from django.conf import global_settings
from django.core.management.utils import get_random_secret_key

from nodeproject.settings.flags import BadSetting
from nodeproject.settings.given import NODE
from nodeproject.settings.theme import UNFOLD  # noqa: F401  # the theme's setting
from primitives.product import BASE_DIR

ROOT_URLCONF = "nodeproject.web.urls"
ASGI_APPLICATION = "nodeproject.asgi.application"
TASK_APP = "nodeproject.celery.app"
"""The Celery app, which code that sends a task imports first then (`chaindb.wakeup`)."""


def _secret_key(path: Path) -> str:
    """Return the key of this data directory, created at first use and readable by its owner only."""
    if not path.exists():
        # Written atomically: an empty file after a crash would prevent every later start.
        descriptor, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(get_random_secret_key())
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
        os.unlink(temporary)
    return path.read_text().strip()


# Keys, passwords and the database are for the node's own user, whichever command creates them.
os.umask(0o077)
try:
    NODE.common.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    SECRET_KEY = _secret_key(Path(NODE.secret_key_file or NODE.common.directory / "secret_key"))
    STATIC_ROOT = NODE.common.directory / "static"
    STATIC_ROOT.mkdir(exist_ok=True)
except OSError as error:
    raise BadSetting(
        "NODE_DATA_DIR or NODE_SECRET_KEY_FILE cannot be used: "
        f"{error.filename or NODE.common.directory}: {error.strerror}"
    ) from error

DEBUG = False
ALLOWED_HOSTS = ["*"]  # the gate applies NODE_ALLOWED_HOSTS before Django, to all paths
APPEND_SLASH = False  # a redirect would drop the body of a POST

INSTALLED_APPS = [
    "nodeproject.apps.DaphneConfig",
    "nodeproject.apps.ThemeConfig",
    "nodeproject.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "nodeproject",
    "chaindb",
    "shared_app",
    "platform_app",
    "cchain_app",
    "xchain_app",
    "network_app",
    "info_app",
    "health_app",
    "explorer_app",
]

MIDDLEWARE = [
    "health_app.metrics.exposition.BeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "nodeproject.web.middleware.CookiePaths",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "nodeproject.web.middleware.ChainChoice",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "health_app.metrics.exposition.After",
]
PROMETHEUS_METRIC_NAMESPACE = "svc"

METRICS_DIRECTORY: Path | None = None
"""The directory in which the processes of this machine share their metrics, if the node has several."""

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "nodeproject/templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"overview": "nodeproject.admin.overview_tag"},
        },
    },
]

AUTHENTICATION_BACKENDS = ["nodeproject.web.logins.LimitedBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LOGIN_FAILURES = {
    "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
    "LOCATION": "logins",
    "OPTIONS": {"MAX_ENTRIES": 20_000},
}
"""The cache in which each web process counts failed logins; two entries for each client."""

STATIC_URL = "/static/"
STORAGES = {
    **global_settings.STORAGES,
    "staticfiles": {"BACKEND": "nodeproject.web.middleware.PrefixedStaticFiles"},
}
WHITENOISE_USE_FINDERS = True  # no collectstatic before the first start

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
if NODE.admin_https:
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    # The proxy, which has the certificate, redirects browsers to HTTPS and sends HSTS: RPC clients
    # behind the proxy are not browsers, and may use plain HTTP internally.
    SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W008"]

# As rich reads them, for the output of this process and of those that it starts.
if NODE.color == "never":
    os.environ["NO_COLOR"] = "1"
elif NODE.color == "always":
    os.environ.pop("NO_COLOR", None)
    os.environ["FORCE_COLOR"] = "1"

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "nodeproject.startup.log_format.json_formatter"}}
    if NODE.log_format == "json"
    else {"text": {"()": "nodeproject.startup.log_format.text_formatter", "color": NODE.color}},
    "filters": {
        "unavailable": {"()": "chaindb.outage_log.UnavailableFilter"},
        "repeats": {"()": "nodeproject.startup.log_format.RepeatFilter"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": NODE.log_format,
            "filters": ["unavailable", "repeats"],
        }
    },
    "root": {"handlers": ["console"], "level": NODE.logged_level},
    # A line for each task or tick would hide the messages that matter to an operator.
    "loggers": {
        name: {"level": "WARNING"} for name in ("celery", "django_celery_beat", "kombu", "uvicorn")
    }
    # It would log the paths of URLs, which contain the API keys of RPC providers.
    | {"urllib3": {"level": "ERROR"}}
    # Requests for unknown paths or with another host's name get an error response; they are not
    # errors of this node and need no traceback.
    | {"django.request": {"level": "ERROR"}, "django.security": {"level": "CRITICAL"}},
}
