"""The running configuration: what a line replaces, what is refused, how it is printed."""

from __future__ import annotations

import pytest

from tests.unit.lab.ios.brownfield import BROWNFIELD, entered, router

CAR = (
    "rate-limit input access-group 2602 8000000 16000 16000 conform-action set-prec-transmit 5 exceed-action drop",
    "rate-limit input access-group rate-limit 61 8000 1500 1500 conform-action transmit exceed-action drop",
)
PORT = "interface FastEthernet4/0/0"
MQC = (
    "class-map match-any EF",
    "match dscp 46",
    "policy-map OUT",
    "class EF",
    "priority percent 20",
    "interface FastEthernet4/0/0",
    "service-policy output OUT",
)


def test_an_operators_configuration_is_printed_as_it_was_given() -> None:
    assert router().text() == BROWNFIELD


def test_car_keeps_its_order_and_a_numbered_list_goes_as_a_whole() -> None:
    configuration = router()
    lines = ["access-list 2602 permit udp host 10.0.0.1 eq 53 any", "access-list 2602 deny ip any any", PORT, *CAR]
    assert entered(configuration, *lines) == [""] * 5
    text = configuration.text()
    assert f" {CAR[0]}\n {CAR[1]}\n" in text
    assert "access-list 2602 permit udp host 10.0.0.1 eq domain any\naccess-list 2602 deny   ip any any\n" in text
    assert entered(configuration, PORT, f"no {CAR[0]}", CAR[0], "no access-list 2602 deny ip any any") == [""] * 4
    assert f" {CAR[1]}\n {CAR[0]}\n" in configuration.text()
    assert "access-list 2602" not in configuration.text()


def test_weights_that_are_as_by_default_are_not_printed() -> None:
    configuration = router()
    assert entered(configuration, PORT, "fair-queue tos 1 weight 30") == ["", "% Configure fair-queue first"]
    assert entered(
        configuration, PORT, "fair-queue tos", "fair-queue tos 1 weight 30", "fair-queue tos 1 weight 20"
    ) == (["", "", "% Total weight of all queues exceeds 99", ""])
    assert " fair-queue tos\n!" in configuration.text()
    assert entered(configuration, PORT, "fair-queue tos 3 weight 1", "no fair-queue tos") == [""] * 3
    assert configuration.text() == BROWNFIELD
    assert entered(configuration, "interface ATM1/0/0.60", "fair-queue tos")[1].endswith(
        "not supported on subinterfaces"
    )


def test_what_is_in_use_stays() -> None:
    configuration = router("cisco-mqc")
    assert entered(configuration, *MQC) == [""] * len(MQC)
    assert entered(configuration, "no class-map EF", "no policy-map OUT") == [
        "% Class-map EF is being used",
        "% Policy-map OUT is being used",
    ]
    undo = ("interface FastEthernet4/0/0", "no service-policy output OUT", "no policy-map OUT", "no class-map EF")
    assert entered(configuration, *undo) == [""] * 4
    assert configuration.text() == BROWNFIELD


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        ((PORT, "service-policy output NOSUCH"), "% policy map NOSUCH not configured"),
        (("policy-map P", "class NOSUCH"), "% class map NOSUCH not configured"),
        (("policy-map P", "class EF", "priority percent 10", "bandwidth percent 5"), "% Priority is configured"),
        (("policy-map P", "class EF", "random-detect"), "% Configure bandwidth or shape or fair-queue first"),
        (
            ("policy-map P", "class EF", "priority percent 60", "class AF", "bandwidth percent 50"),
            "Sum total of class bandwidths exceeds 100 percent",
        ),
        (
            ("policy-map P", "class EF", "bandwidth percent 5", "random-detect dscp 10 1 2"),
            "% Configure random-detect",
        ),
        (
            ("policy-map P", "class EF", "bandwidth percent 5", "random-detect", "no bandwidth"),
            "% Remove random-detect first",
        ),
        (("class-map match-all EF",), "% Class-map EF exists with another match type"),
        ((PORT, "service-policy sideways P"), "invalid"),
        ((PORT, "service-policy output"), "incomplete"),
        (("interface FastEthernet9/0/0",), "invalid"),
        (("no interface FastEthernet4/0/0",), "% Removal of physical interfaces is not permitted"),
        (("ip access-list extended A", "10 permit ip any any", "10 deny ip any any"), "% Duplicate sequence number"),
        (("in",), "incomplete"),
        (("no",), "incomplete"),
    ],
)
def test_ios_refuses_and_changes_nothing(lines: tuple[str, ...], answer: str) -> None:
    configuration = router("cisco-mqc")
    assert entered(configuration, "class-map match-any EF", "match dscp 46", "class-map match-all AF") == [""] * 3
    *before, last = lines
    cursor = configuration.cursor()
    assert all(configuration.apply(cursor, line).taken for line in before)
    text = configuration.text()
    refused = configuration.apply(cursor, last)
    assert (refused.message or refused.kind.value).startswith(answer)
    assert configuration.text() == text


def test_a_policy_on_a_12000_has_one_class_with_priority() -> None:
    configuration = router("cisco-gsr")
    lines = (
        "class-map match-all A",
        "class-map match-all B",
        "policy-map P",
        "class A",
        "priority",
        "class B",
        "priority",
    )
    assert entered(configuration, *lines) == [*[""] * 6, "% Priority is already configured in this policy"]


def test_a_class_of_service_is_in_one_queue() -> None:
    configuration = router("cisco-cat6500")
    assert entered(configuration, PORT, "wrr-queue cos-map 1 1 0 4", "wrr-queue cos-map 2 1 4 5") == [""] * 3
    assert " wrr-queue cos-map 1 1 0\n wrr-queue cos-map 2 1 4 5\n" in configuration.text()


def test_named_lists_keep_their_numbers() -> None:
    configuration = router("cisco-mqc")
    lines = ("ip access-list extended A", "permit ip host 10.0.0.1 any", "permit ip host 10.0.0.3 any")
    entered(configuration, *lines, "15 permit ip host 10.0.0.2 any", "no 10")
    text = configuration.text()
    assert "ip access-list extended A\n permit ip host 10.0.0.2 any\n permit ip host 10.0.0.3 any\n" in text
    configuration.sequences = True
    assert "\n 15 permit ip host 10.0.0.2 any\n 20 permit ip host 10.0.0.3 any\n" in configuration.text()


def test_code_points_are_printed_by_name() -> None:
    configuration = router("cisco-mqc")
    entered(configuration, "class-map match-any A", "match ip dscp 46 10", "policy-map P", "class A", "set dscp 0")
    assert " match ip dscp ef af11\n" in configuration.text()
    assert "  set dscp default\n" in configuration.text()


def test_keywords_may_be_cut_short_where_they_stay_clear() -> None:
    configuration = router()
    assert entered(configuration, "int fa4/0/0", "desc other", "ip addr 10.9.0.1 255.255.255.0") == [""] * 3
    assert " description other\n ip address 10.9.0.1 255.255.255.0\n" in configuration.text()


def test_a_line_of_the_top_leaves_the_section() -> None:
    configuration = router()
    assert entered(configuration, PORT, "ip route 10.8.0.0 255.255.0.0 192.0.2.6", "description x") == [
        "",
        "",
        "invalid",
    ]


def test_the_other_form_takes_the_place_of_a_line() -> None:
    configuration = router()
    entered(configuration, "interface ATM1/0/0", "ip address 10.7.0.1 255.255.255.0", PORT, "no ip address")
    assert "interface ATM1/0/0\n ip address 10.7.0.1 255.255.255.0\n" in configuration.text()
    assert " description Hosts of the laboratory\n no ip address\n" in configuration.text()
