"""Users of this node's keystore. What is secret is sealed; nothing here can be read without them."""

from django.db import models
from typing_extensions import override

from chaindb.fields import BytesField, ShortIDField


class KeystoreUser(models.Model):
    """One row is a user. Of the password there is only what argon2id makes of it."""

    id = models.BigAutoField(primary_key=True)
    name = models.TextField(unique=True)
    salt = BytesField()
    time_cost = models.IntegerField(help_text="argon2id: passes")
    memory_cost = models.IntegerField(help_text="argon2id: KiB")
    parallelism = models.IntegerField(help_text="argon2id: lanes")
    verifier = BytesField(help_text="A hash of the derived key: it tells a wrong password")
    created_at = models.BigIntegerField(help_text="Unix seconds")

    class Meta:
        ordering = ["name"]

    @override
    def __str__(self) -> str:
        return self.name


class KeystoreKey(models.Model):
    """One row is a key of a user, sealed with what the password gives; they keep their order."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(KeystoreUser, models.CASCADE, related_name="keys", db_index=False)
    address = ShortIDField(help_text="Of the key; public")
    sealed = BytesField(help_text="Nonce and encrypted private key")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "address"], name="platform_key_once_a_user"),
        ]

    @override
    def __str__(self) -> str:
        return str(self.address)
