"""Attacks that were once successful, or nearly: each is a test here, and stays.

The servers, files and peers are hostile; what is promised is an outcome for each, in bounded time and memory, and that
the work at hand goes on. What is measured is counted (requests, bytes, growth with the size of the attack), never
seconds on a clock.
"""

from typing import Any

import pytest

MEMORY = "most memory"  # in bytes, of the processes of a test, as `record_property` notes it


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tells how much memory the attacked processes took at most."""
    measured = [
        (int(value), report.nodeid)
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, value in report.user_properties
        if name == MEMORY
    ]
    if measured:
        most, test = max(measured)
        terminalreporter.write_line(f"{len(measured)} tests measured memory; at most {most / 1e6:.0f} MB: {test}")
