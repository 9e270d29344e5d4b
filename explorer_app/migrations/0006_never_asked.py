"""An index of contracts that were never queried: they are queried first."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('explorer_app', '0005_asked_heights'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='token',
            index=models.Index(condition=models.Q(('asked_height__isnull', True), ('asks_at__isnull', False)), fields=['asks_at'], name='explorer_token_never_asked'),
        ),
    ]
