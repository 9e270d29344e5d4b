"""Indexes for reverts of a development chain: rows that depend on removed blocks are found without a full scan."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('explorer_app', '0004_noted_owners'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='token',
            index=models.Index(condition=models.Q(('first_erc20_log__isnull', False)), fields=['first_erc20_log'], name='explorer_token_by_erc20_log'),
        ),
        migrations.AddIndex(
            model_name='token',
            index=models.Index(condition=models.Q(('asked_height__isnull', False)), fields=['asked_height'], name='explorer_token_by_asking'),
        ),
        migrations.AddIndex(
            model_name='tokenbalance',
            index=models.Index(condition=models.Q(('asked_height__isnull', False)), fields=['asked_height'], name='explorer_balance_by_asking'),
        ),
    ]
