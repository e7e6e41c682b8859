"""What all tests share: properties are never judged by the clock."""

from hypothesis import settings

settings.register_profile("lycosa", deadline=None)
settings.load_profile("lycosa")
