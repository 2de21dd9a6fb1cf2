"""A share without its sign: what was meant is asked about."""

from __future__ import annotations

import pytest

from slotcar.base.units import UnitError
from slotcar.network.variables import parse_share_ppm


@pytest.mark.parametrize(
    ("share", "meant"),
    [
        (0.3, "30 %"), ("0.3", "30 %"), (0.005, "0.5 %"), (0.45, "45 %"), (45, "45 %"), ("45", "45 %"), (1, "1 %"),
        (1.5, "1.5 %"), (0, "0 %"),
    ],
)  # fmt: skip
def test_a_fraction_is_meant_as_a_part_of_the_link(share: object, meant: str) -> None:
    with pytest.raises(UnitError, match=f"did you mean `{meant}`"):
        parse_share_ppm(share)


@pytest.mark.parametrize("share", [True, "half", None, [], "45 percent", float("nan")])
def test_what_is_no_number_has_no_guess(share: object) -> None:
    with pytest.raises(UnitError) as refused:
        parse_share_ppm(share)
    assert "did you mean" not in str(refused.value)
