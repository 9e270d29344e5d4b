from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('platform_app', '0008_l1_views'),
    ]

    operations = [
        migrations.AddField(
            model_name='mempooltx',
            name='gas_price',
            field=models.FloatField(help_text='Burned amount per gas, where blocks take the highest price first; else null', null=True),
        ),
        migrations.AddIndex(
            model_name='mempooltx',
            index=models.Index(condition=models.Q(('gas_price__isnull', False)), fields=['-gas_price', 'id'], name='platform_mempool_price'),
        ),
    ]
