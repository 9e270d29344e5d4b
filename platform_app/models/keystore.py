"""Users of this node's keystore. Secrets are sealed; only a user's password can open them."""

from django.db import models
from typing_extensions import override

from chaindb.fields import BytesField, ShortIDField


class KeystoreUser(models.Model):
    """A keystore user. Only the argon2id hash of the password is stored."""

    id = models.BigAutoField(primary_key=True)
    name = models.TextField(unique=True)
    salt = BytesField()
    time_cost = models.IntegerField(help_text="argon2id: number of passes")
    memory_cost = models.IntegerField(help_text="argon2id: memory in KiB")
    parallelism = models.IntegerField(help_text="argon2id: number of lanes")
    verifier = BytesField(help_text="Hash of the derived key; detects a wrong password")
    created_at = models.BigIntegerField(help_text="Time of creation in Unix seconds")

    class Meta:
        ordering = ["name"]

    @override
    def __str__(self) -> str:
        return self.name


class KeystoreKey(models.Model):
    """A key of a user, sealed with a key derived from the password; a user's keys are ordered."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(KeystoreUser, models.CASCADE, related_name="keys", db_index=False)
    address = ShortIDField(help_text="Address of the key")
    sealed = BytesField(help_text="Nonce and encrypted private key")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "address"], name="platform_key_once_a_user"),
        ]

    @override
    def __str__(self) -> str:
        return str(self.address)
