"""How long policies take: whether a reservation may take its place, with more and more policies of a site, and a right that
is kept. The peer is cedarpy as its manual begins: policies, entities and schema as texts with each request."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from cedarpy import is_authorized

from benchmarks.admission.durable import AMPLE_BPS, admission_of, admit
from benchmarks.admission.filling import fill_ledger
from benchmarks.admission.workload import NOW as NOW_OF_WORK
from benchmarks.admission.workload import RESOURCES, workload
from benchmarks.common import Figure, Pace, Say, pace, postgres
from slotcar.base.timebase import Window, to_us
from slotcar.book import operations
from slotcar.book.model import AdmissionRequest, Terms
from slotcar.book.permitting import check_permitted, decide_ahead
from slotcar.book.rules.policy import Policy
from slotcar.book.rules.reserving import ReservingRules
from slotcar.policy.asking import verdict_on
from slotcar.policy.caller import Caller, Role
from slotcar.policy.policies import Policies
from slotcar.policy.reading import schema
from slotcar.policy.reserving import Total, WantedReservation, largest_bps, question_of
from slotcar.policy.site import Community, Site
from slotcar.policy.statements import Source
from slotcar.store import Ledger, open_ledger

PEER = "cedarpy from texts"
SIZES = (10, 100, 1_000)
TIMES, QUICK_TIMES, PEER_TIMES = 5_000, 500, 100
#: Reservations that are live beside an admission; admissions, the first of which find nothing prepared.
LIVE, ADMISSIONS, QUICK_ADMISSIONS, WARM_UP = 1_000, 2_000, 200, 20
#: Asks for totals, and lets everybody pass.
OWNERS = """
@id("owners-within-their-totals")
permit (principal, action == Action::"reserve", resource) when { context.totals.owner.peak_bps >= 0 };
"""
NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
#: One policy for each of many links: none of them is crossed, as most of a site's concern others.
POLICY = """
@id("link-{number}")
forbid (principal in Community::"hep", action == Action::"reserve", resource in Link::"router-{number}:eth0")
when {{ context.rate_bps > {number} && context.hours.containsAny([8, 9, 10]) && context.totals.owner.peak_bps > 1000000 }};
"""
#: The same about every reservation: all of them are evaluated each time.
OF_EVERY = POLICY.replace('resource in Link::"router-{number}:eth0"', "resource")
READS = "&& context.totals.owner.peak_bps > 1000000 "
ALL_MAY = OWNERS.replace("context.totals.owner.peak_bps >= 0", "context.rate_bps >= 0")
LIMIT = """
@id("limit")
permit (principal, action == Action::"reserve", resource)
when { context.rate_bps <= 20000000 && context.totals has community && context.totals.community.peak_bps <= 40000000 };
"""


def site_with(policies: int) -> Site:
    """A site with so many policies of its own, and one that limits a community."""
    text = LIMIT + "".join(POLICY.format(number=number) for number in range(policies - 1))
    return Site(Policies([Source("reserving.cedar", text)]), communities={"hep": Community(frozenset({"cms"}))})


def wanted(rate_bps: int) -> WantedReservation:
    hops = [("Link", f"core-{number}:eth1") for number in range(8)]
    total = Total(5, rate_bps + 10_000_000, 10**12)
    return WantedReservation(
        "cms", "run", [("Service", "ip-premium"), ("Kind", "flow"), *hops], rate_bps, 3_600 * rate_bps,
        (Window(NOW + timedelta(hours=1), NOW + timedelta(hours=2)),), {"community": "hep"},
        is_change=False, is_hold=False, totals={"owner": total, "community": total},
    )  # fmt: skip


def measure(quick: bool, say: Say) -> Iterator[Figure]:
    """A decision, and what a refusal costs with its reasons and the largest rate, by the number of policies."""
    times = QUICK_TIMES if quick else TIMES
    for size in SIZES:
        say(f"{size} policies")
        site = site_with(size)
        caller = site.caller("cms-transfer", Role.REQUESTER, "cms")
        allowed, refused = wanted(10_000_000), wanted(90_000_000)

        def decide(site: Site = site, caller: Caller = caller, asked_for: WantedReservation = allowed) -> None:
            assert site.policies.decide(question_of(caller, asked_for, site, NOW)).allowed

        def refuse(site: Site = site, caller: Caller = caller, asked_for: WantedReservation = refused) -> None:
            assert largest_bps(site.policies, caller, asked_for, site, NOW) == 20_000_000

        decided, peers = _timed(decide, times), _timed(_peer(site, caller, allowed), PEER_TIMES)
        for name in ("p50_us", "p99_us"):
            ours, theirs = getattr(decided, name), getattr(peers, name)
            yield Figure(f"a decision, {size} policies, {name[:3]}", ours, "us", PEER, theirs, lower_is_better=True)
        worst = _timed(refuse, max(times // 100, 5))
        yield Figure(f"the largest rate of a refusal, {size} policies, p50", worst.p50_us, "us", lower_is_better=True)
    site = site_with(SIZES[1])
    caller = site.caller("cms-transfer", Role.REQUESTER, "cms")
    kept = _timed(lambda: verdict_on(caller, "cancel", "cms"), times)
    yield Figure("a right that is kept, p99", kept.p99_us, "us", lower_is_better=True)
    yield from _in_admissions(QUICK_ADMISSIONS if quick else ADMISSIONS, say)
    # What else runs takes the caches, and so the processor's time too: up to twice of it where much does.
    yield Figure("processes that ran or waited for a processor, of all, last minute", os.getloadavg()[0], "")


def _in_admissions(times: int, say: Say) -> Iterator[Figure]:
    """What policies take of durable admissions, one after another, with exact totals."""
    reading_none = POLICY.replace(READS, ""), OF_EVERY.replace(READS, "")
    for size in SIZES[:2]:
        yield from _with_policies(f"{size} policies of links", (POLICY, OWNERS), size, times, say)
    for what, policy in zip(("of links", "of everything"), reading_none, strict=True):
        yield from _with_policies(f"100 policies {what} that read no totals", (policy, ALL_MAY), 100, times, say)
    yield from _with_policies("100 policies of everything", (OF_EVERY, OWNERS), 100, times, say)


def _with_policies(what: str, texts: tuple[str, str], size: int, times: int, say: Say) -> Iterator[Figure]:
    """`texts`: one of most policies, with `{number}`, and one that permits."""
    say(f"{times} admissions with {what}")
    work = workload(LIVE, times)
    always = np.full(LIVE, to_us(NOW_OF_WORK)), np.full(LIVE, to_us(NOW_OF_WORK + timedelta(days=60)))
    live = replace(work.live, starts=always[0], ends=always[1])  # all are in the window of each request
    requests = [admission_of(request, number) for number, request in enumerate(work.requests)]
    text = "".join(texts[0].format(number=number) for number in range(size - 1)) + texts[1]
    site = Site(Policies([Source("reserving.cedar", text)]))
    caller = site.caller("bench", Role.REQUESTER, "bench")
    terms = Terms(dict.fromkeys(RESOURCES, AMPLE_BPS), {}, Policy(reserving=ReservingRules(site)))
    with postgres() as url, open_ledger(url, Path("unused: the URL names a server"), migrate=True) as ledger:
        fill_ledger(url, live, requests[0])
        ledger.set_terms(terms)
        admitted, processor, halves = _timed_admissions(ledger, [replace(one, caller=caller) for one in requests])
    for half, taken in zip(("before the ledger's lock", "under it"), halves, strict=True):
        yield Figure(f"{what}, {half}, processor time, p50", taken.p50_us, "us", lower_is_better=True)
        yield Figure(f"{what}, {half}, processor time, p99", taken.p99_us, "us", lower_is_better=True)
    together = sum(1 / taken.per_second for taken in halves)
    shares = {"an admission": admitted, "an admission's processor time, without the database's": processor}
    for of, whole in shares.items():
        yield Figure(f"{what}, their share of {of}", 100 * together * whole.per_second, "%", lower_is_better=True)


def _timed_admissions(ledger: Ledger, requests: list[AdmissionRequest]) -> tuple[Pace, Pace, tuple[Pace, Pace]]:
    """How fast they were by the clock and of this process' time, and what of each was the policies', before the lock and
    under it: of the processor's time, because whatever else the machine does would be counted with it."""
    before: list[float] = []
    under: list[float] = []
    ahead, check = _noted(decide_ahead, before), _noted(check_permitted, under)
    whole, processor = [], []
    with patch.object(operations, "decide_ahead", ahead), patch.object(operations, "check_permitted", check):
        for request in requests:
            begun, used = time.perf_counter(), time.process_time()
            admit(ledger, request)
            whole.append(time.perf_counter() - begun)
            processor.append(time.process_time() - used)
    return pace(whole[WARM_UP:]), pace(processor[WARM_UP:]), (pace(before[WARM_UP:]), pace(under[WARM_UP:]))


def _noted(work: Callable[..., Any], taken: list[float]) -> Callable[..., Any]:
    def noted(*arguments: Any) -> Any:
        begun = time.thread_time()
        try:
            return work(*arguments)
        finally:
            taken.append(time.thread_time() - begun)

    return noted


def _peer(site: Site, caller: Caller, asked_for: WantedReservation) -> Callable[[], object]:
    question = question_of(caller, asked_for, site, NOW)
    policies = "".join(source.text for source in site.policies.sources)
    entities, known = json.dumps(question.entities), str(schema())
    return lambda: is_authorized(question.request, policies, entities, known)


def _timed(work: Callable[[], object], times: int) -> Pace:
    """Of the processor's time."""
    work()  # what is prepared once is no part of it
    latencies = []
    for _ in range(times):
        begun = time.thread_time()
        work()
        latencies.append(time.thread_time() - begun)
    return pace(latencies)
