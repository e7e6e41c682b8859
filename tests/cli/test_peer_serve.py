"""What `lycosa peer serve` refuses before it opens anything."""

from pathlib import Path

import pytest

from lycosa.vocabulary.errors import UsageError
from lycosa_peers.cli.peer import serve


@pytest.mark.parametrize("at", ["0.0.0.0:7077", "[::]:7077", "192.0.2.7:0"])
def test_an_address_at_which_nobody_can_reach_it_is_refused(at: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--at .*nobody can reach it there"):
        serve(tmp_path, listen="0.0.0.0:7077", reached_at=at)
