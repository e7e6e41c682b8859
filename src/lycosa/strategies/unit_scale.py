"""Numbers from 0 to 1."""

from lycosa.vocabulary.errors import UsageError


def clamped(value: float | None) -> float:
    """What a model says, brought between 0 and 1; nothing, and what is no number, is 0."""
    if value is None:
        return 0.0
    if 0.0 <= value <= 1.0:
        return float(value)
    return 1.0 if value > 1.0 else 0.0


def checked(name: str, value: float) -> float:
    """An option that must lie between 0 and 1."""
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{name} must lie between 0 and 1, not {value:g}")
    return float(value)
