"""Groups on the command line, as they come over HTTP."""

from __future__ import annotations

import pytest

from slotcar.api.examples import EXAMPLES
from slotcar.cli.grouping import is_group, print_group

ANSWER = EXAMPLES["group"].answers["application/json"]


def test_a_group_is_printed_with_a_line_for_each_member(capsys: pytest.CaptureFixture[str]) -> None:
    print_group(ANSWER)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "hep/tonight  g-5m2k8q1x7v4n9c3d"
    assert lines[1] == "  state    committed, planned"
    assert "cores  r-3c9d4e8f1a7q2m5k" in lines[-1]
    assert "4 cores of lbnl-premium" in lines[-1]
    assert lines[-1].endswith("on failure go-on")


@pytest.mark.parametrize(("which", "group"), [("g-5m2k8q1x7v4n9c3d", True), ("r-3c9d", False), ("g-team/x", False)])
def test_a_groups_handle_is_told_from_a_name(which: str, group: bool) -> None:
    assert is_group(which) is group
