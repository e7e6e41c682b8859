"""When a session saves its state: often enough to lose little, seldom enough to cost little."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

_MAX_EVENTS = 500  # between checkpoints
_MIN_SECONDS = 2.0  # between checkpoints, unless _MAX_EVENTS is reached first
_MAX_SECONDS = 10.0  # between checkpoints, even if there was less work than _MIN_WORK_RATIO asks for
_MIN_WORK_RATIO = 20  # processor time between checkpoints, as a multiple of that of the last one


class CheckpointSchedule:
    """Decides when the next checkpoint is due, by events, time, and the cost of the last checkpoint.

    Only processor time counts as the cost, not the time that a checkpoint waits for the disk.
    """

    def __init__(self) -> None:
        self.count = 0  # checkpoints made
        self._unsaved = 0  # events
        self._saved_at = time.monotonic()
        self._cpu_after_checkpoint = time.process_time()
        self._cpu_of_checkpoint = 0.0  # seconds

    def count_event(self) -> None:
        """Counts an event that the next checkpoint saves."""
        self._unsaved += 1

    def is_due(self) -> bool:
        """Whether to save: after 500 events; otherwise every 2 seconds if saving is a small part of the work, else
        every 10."""
        if self._unsaved >= _MAX_EVENTS:
            return True
        if not self._unsaved or (seconds := time.monotonic() - self._saved_at) <= _MIN_SECONDS:
            return False
        work = time.process_time() - self._cpu_after_checkpoint
        return work > _MIN_WORK_RATIO * self._cpu_of_checkpoint or seconds > _MAX_SECONDS

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Context of a checkpoint: measures it, and notes that everything was saved unless it raises."""
        cpu_before = time.process_time()
        yield
        self.count += 1
        self._unsaved = 0
        self._saved_at, self._cpu_after_checkpoint = time.monotonic(), time.process_time()
        self._cpu_of_checkpoint = self._cpu_after_checkpoint - cpu_before
