"""When a checkpoint is due: by events, by time, and by what the last one cost."""

import pytest

from lycosa.run.checkpoints import CheckpointSchedule


class Clocks:
    """The seconds that have passed, and those of them that the process has worked."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def monotonic(self) -> float:
        return self.wall

    def process_time(self) -> float:
        return self.cpu


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    clocks = Clocks()
    monkeypatch.setattr("lycosa.run.checkpoints.time", clocks)
    return clocks


def test_a_crawl_that_works_little_is_saved_less_often(clocks: Clocks) -> None:
    saved, schedule = list[float](), CheckpointSchedule()

    def save() -> None:
        with schedule.saving():
            clocks.cpu += 0.1
            saved.append(clocks.wall)

    save()
    for second, work in ((1, 5.0), (3, 0.0), (4, 0.0), (8, 1.5), (19, 0.0), (22, 2.5)):
        clocks.wall, clocks.cpu = float(second), clocks.cpu + work
        schedule.count_event()
        if schedule.is_due():
            save()
    assert saved == [0.0, 3.0, 19.0, 22.0]


def test_many_events_are_saved_at_once_and_none_never(clocks: Clocks) -> None:
    schedule = CheckpointSchedule()
    clocks.wall = clocks.cpu = 100.0
    assert not schedule.is_due(), "nothing has happened"
    with schedule.saving():
        pass
    for _ in range(499):
        schedule.count_event()
    assert not schedule.is_due()
    schedule.count_event()
    assert schedule.is_due()


def test_a_checkpoint_that_fails_stays_due(clocks: Clocks) -> None:
    schedule = CheckpointSchedule()
    for _ in range(500):
        schedule.count_event()
    with pytest.raises(OSError), schedule.saving():
        raise OSError
    assert schedule.is_due()
