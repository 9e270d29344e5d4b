from django.db import migrations


class Migration(migrations.Migration):
    """Leave the tables of shared outputs, with their rows, to the app of the shared memory."""

    dependencies = [("platform_app", "0005_help_texts"), ("shared_app", "0001_initial")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel(name="SharedUTXOOwner"),
                migrations.DeleteModel(name="SharedUTXO"),
            ],
        ),
    ]
