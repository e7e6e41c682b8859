"""Name servers that mean harm: each name has an outcome, and no private address is connected to."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fortress.hostile_names import NAMES, PUBLIC

ALONE = ["unshare", "--net", "--mount", "--map-root-user"]  # in a network of its own
GOOD = {"good", "good-six", "somewhat-slow", "mixed"}
PRIVATE = {
    *(name for name in NAMES if name.startswith("six-")),
    *("loopback", "loopback-two", "ten", "metadata", "carrier", "zero", "broadcast", "multicast"),
    *("thousands-private", "alias-of-private", "alias-chain", "alias-of-localhost"),
}


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    try:
        subprocess.run([*ALONE, "ip", "link", "show", "lo"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("unshare and ip make no network of its own here")
    program = Path(__file__).with_name("hostile_names.py")
    ended = subprocess.run([*ALONE, sys.executable, str(program)], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.mark.slow
def test_every_name_has_an_outcome_and_good_ones_are_found_among_them(told: dict[str, Any]) -> None:
    outcomes = {name: [outcome for outcome, *_ in found] for name, found in told["outcomes"].items()}
    assert set(outcomes) == set(NAMES)
    assert {name for name, found in outcomes.items() if found == ["ok"]} == GOOD
    assert {name for name, found in outcomes.items() if found == ["refused"]} == PRIVATE
    failed = set(NAMES) - GOOD - PRIVATE - {"rebinding"}
    assert {name for name, found in outcomes.items() if found == ["failed"]} == failed


def test_a_name_that_is_rebound_to_this_machine_is_refused(told: dict[str, Any]) -> None:
    assert [outcome for outcome, *_ in told["outcomes"]["rebinding"]] == ["ok", "refused", "refused"]


def test_no_address_but_public_ones_is_connected_to(told: dict[str, Any]) -> None:
    """A server listens at all of them."""
    assert PUBLIC in told["addresses"]
    assert not {"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"} & set(told["addresses"])
    assert len(told["addresses"]) == 2
