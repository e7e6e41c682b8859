"""What all tests share: properties are never judged by the clock, and draw the same examples in every run.

`pytest --hypothesis-profile=random` draws others each time, and is how to look for examples that break a law.
"""

from hypothesis import settings

settings.register_profile("lycosa", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("lycosa")
