"""Settings: `node` reads the environment, `base` and `celery` are Django's and Celery's.

`embedded`, `production` and `test` only differ from them.
"""
