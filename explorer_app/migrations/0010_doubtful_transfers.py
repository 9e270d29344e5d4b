from django.db import migrations, models

HELP = (
    "The value is zero, or the sender is an account that did not sign the transaction: contracts can emit "
    "such events to make it appear as the sender. Allowances look the same; balances tell them apart."
)


class Migration(migrations.Migration):
    """The column keeps its name, which is part of the view `c_token_transfers`."""

    dependencies = [("explorer_app", "0009_help_texts")]

    operations = [
        migrations.RemoveIndex(model_name="tokentransfer", name="explorer_shown_by_sender"),
        migrations.RemoveIndex(model_name="tokentransfer", name="explorer_shown_by_recipient"),
        migrations.AlterField("tokentransfer", "hidden", models.BooleanField(db_column="hidden")),
        migrations.RenameField("tokentransfer", "hidden", "doubtful"),
        migrations.AlterField(
            "tokentransfer", "doubtful", models.BooleanField(db_column="hidden", help_text=HELP)
        ),
    ]
