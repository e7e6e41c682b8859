class LatestKeys:
    """Numbers of which the latest are remembered.

    at_least: how many are; never twice as many.
    """

    def __init__(self, *, at_least: int):
        self._at_least = at_least
        self._new: set[int] = set()
        self._old: set[int] = set()

    def add(self, key: int) -> None:
        self._new.add(key)
        if len(self._new) >= self._at_least:
            self._new, self._old = set(), self._new

    def __contains__(self, key: int) -> bool:
        return key in self._new or key in self._old

    def __len__(self) -> int:
        return len(self._new) + len(self._old)
