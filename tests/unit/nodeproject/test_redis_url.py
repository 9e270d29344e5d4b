"""NODE_REDIS_URL: redis-py and Kombu parse the same server from it, or it is rejected."""

from typing import Any

import pytest
from kombu import Connection
from redis import ConnectionPool, SSLConnection, UnixDomainSocketConnection

from nodeproject.settings.flags import BadSetting, read
from nodeproject.settings.formats import broker_of
from nodeproject.settings.node import NodeSettings

TLS = "ssl_ca_certs=/ca.pem&ssl_certfile=/node.pem&ssl_keyfile=/node.key"
COMPARED = ("host", "port", "path", "db", "username", "password")


def of_kombu(url: str) -> dict[str, Any]:
    """Return the parameters of a connection by Celery, without opening one."""
    broker = broker_of(url)
    with Connection(broker.url, ssl=broker.tls) as connection:
        transport = connection.transport
        channel = object.__new__(transport.Channel)
        channel.connection = transport
        parameters: dict[str, Any] = channel._connparams()
        return parameters


@pytest.mark.parametrize(
    "url",
    [
        "redis://cache",
        "redis://cache:6380",
        "redis://cache/3",
        "redis://cache?db=3",
        "redis://:secret@cache:6380/3",
        "redis://node:se%3Bc%2Cr%40et%2F%25@cache/0",
        "redis://[::1]:6380/1",
        "rediss://node:secret@cache:6380/2",
        f"rediss://cache/2?{TLS}",
        "rediss://cache/?ssl_cert_reqs=none",
        "rediss://cache/?ssl_check_hostname=false&ssl_cert_reqs=required",
        "unix:///run/redis.sock",
        "unix://node:secret@/run/redis/redis.sock?db=4",
        "unix:///run/a%20b%25.sock",
    ],
)
def test_both_redis_clients_read_the_url_alike(url: str) -> None:
    of_redis = ConnectionPool.from_url(url)
    opened = of_redis.connection_class(**of_redis.connection_kwargs)
    kombu = of_kombu(url)
    kind = kombu.pop("connection_class")
    known = {name: value for name, value in kombu.items() if name in COMPARED or "ssl" in name}
    of_broker = kind(**known)

    assert isinstance(opened, SSLConnection) == url.startswith("rediss:")
    assert isinstance(opened, UnixDomainSocketConnection) == url.startswith("unix:")
    assert issubclass(kind, of_redis.connection_class)
    for name in COMPARED:
        expected = getattr(opened, name, None)
        if (name, expected) == ("host", "localhost"):
            expected = "127.0.0.1"
        assert (getattr(of_broker, name, None) or None) == (expected or None), name
    for name in ("cert_reqs", "check_hostname", "ca_certs", "certfile", "keyfile"):
        assert getattr(of_broker, name, None) == getattr(opened, name, None), name


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "it must begin with"),
        ("127.0.0.1:6379", "it must begin with"),
        ("redis:cache", "it must begin with"),
        ("https://cache", "it must begin with"),
        ("redis://", "the host is missing"),
        ("redis://:secret@/0", "the host is missing"),
        ("redis://cache:port/0", "its host or port cannot be read"),
        ("redis://cache:99999/0", "its host or port cannot be read"),
        ("redis://cache/0#secret", "its host or port cannot be read"),
        ("redis://cache/first", "the database must be a number"),
        ("redis://cache/1?db=2", "it has two database numbers"),
        ("redis://cache/?db=1&db=2", "it has a parameter twice"),
        ("redis://cache/?db", "its parameters cannot be read"),
        ("redis://cache/?ssl_ca_certs=/ca.pem", "redis:// has no parameter but db"),
        ("rediss://cache/?socket_timeout=60", "rediss:// has no parameter but db, ssl_ca_certs"),
        ("rediss://cache/?ssl_cert_reqs=CERT_NONE", "ssl_cert_reqs must be required or none"),
        ("rediss://cache/?ssl_ca_certs=", "ssl_ca_certs must be given"),
        ("rediss://cache/?ssl_check_hostname=off", "ssl_check_hostname must be true or false"),
        ("unix://", "a socket's path begins with a slash"),
        ("unix://run/redis.sock", "a socket's path begins with a slash"),
    ],
)
def test_ambiguous_redis_url_is_refused_without_repeating_it(url: str, reason: str) -> None:
    with pytest.raises(BadSetting) as refused:
        read(NodeSettings, {"NODE_REDIS_URL": url})

    message = str(refused.value)
    assert message.startswith("NODE_REDIS_URL cannot be read; it must be a URL like redis://HOST")
    assert reason in message
    assert "secret" not in message
