"""The labels of a curve are in the unit of its resource."""

from __future__ import annotations

import pytest

from slotcar.network.model import Network
from tests.browser.conftest import SignIn
from tests.integration.web.conftest import Site
from tests.integration.web.test_amounts import CORES, DISK, HOST, reserved
from tests.support.networks import with_end_system

pytestmark = pytest.mark.browser
SLS = "sls:anl-esnet-ip-premium"
#: What is shown of an amount: along the axis, and beside the mouse.
LABELS = """(amounts) => {
    const shown = window.echarts.getInstanceByDom(document.querySelector('[data-steps]')).getOption();
    const beside = (amount) => shown.tooltip[0].formatter([{ seriesName: 'reserved', value: [0, amount] }]);
    return amounts.flatMap((one) => [shown.yAxis[0].axisLabel.formatter(one), beside(one).split('reserved: ')[1]]);
}"""


@pytest.fixture(scope="module")
def network(network: Network) -> Network:
    return with_end_system(network, HOST)


@pytest.mark.parametrize(
    ("resource", "labels"),
    [
        (CORES, {2500: "2.5 cores", 1000: "1 core", 0: "0 cores"}),
        (DISK, {400_000_000: "400 MB/s", 20: "20 B/s"}),
        (SLS, {45_000_000: "45 Mbit/s", 20: "20 bit/s"}),
    ],
    ids=["cores", "disk", "line"],
)
def test_a_curve_is_labelled_in_its_resources_unit(
    site: Site, sign_in: SignIn, resource: str, labels: dict[int, str]
) -> None:
    reserved(site)
    tab = sign_in()
    tab.page.goto(f"/links/{resource}")
    tab.page.wait_for_selector("[data-drawn=yes]")
    expected = [words for words in labels.values() for _ in range(2)]
    assert tab.page.evaluate(LABELS, list(labels)) == expected
    assert tab.complaints == []
