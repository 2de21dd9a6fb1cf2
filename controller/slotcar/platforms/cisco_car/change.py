"""The least change between two owned configurations, in an order in which nothing refers to what is not there."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from slotcar.platforms.cisco_car.running import DEFAULT_WEIGHTS
from slotcar.platforms.ios.configuration import Ios, body, indented, printed
from slotcar.platforms.ios.objects import (
    AccessList,
    Interface,
    RateLimit,
    RateLimitList,
    TosWeight,
    by_number,
    natural,
    sorted_by,
)
from slotcar.platforms.ios.owned_places import owns_added, owns_removed

#: What a CAR line uses: whether a list of precedences, and its number.
Use = tuple[bool, int]
Lists = dict[Use, AccessList | RateLimitList]


def change_lines(before: Ios, after: Ios) -> tuple[str, ...]:
    """ACLs that are new, then interfaces, then ACLs that nobody uses any more. Empty where nothing differs.

    An ACL that differs is written anew as a whole, and so are the CAR lines of an interface where any of them differs,
    because their order is their meaning and IOS appends. While an ACL is rewritten no line uses it: to IOS a list that
    is not there permits everything.
    """
    old_lists, new_lists = _lists(before), _lists(after)
    rewritten = {use for use, one in new_lists.items() if old_lists.get(use, one) != one}
    lines = owns_added(before, after)
    early: set[str] = set()
    changes = {}
    for name in sorted_by(natural, {**before.interfaces, **after.interfaces}):
        old, new = (owned.interfaces.get(name, Interface(name)) for owned in (before, after))
        removed, added = _rate_limits(old.rate_limits, new.rate_limits, rewritten)
        old_lines = dict(zip(old.rate_limits, body(old), strict=False))
        new_lines = dict(zip(new.rate_limits, body(new), strict=False))
        removals = [f"no {old_lines[one]}" for one in removed]
        changes[name] = removals, [*(new_lines[one] for one in added), *_queueing(old.tos_weights, new.tos_weights)]
        if any(_use(one) in rewritten for one in removed):
            early.add(name)
            lines += _section(name, removals)
    for use, one in new_lists.items():
        if old_lists.get(use) != one:
            lines += [*(_removal(old_lists[use]) if use in old_lists else []), *printed(one)]
    for name, (removals, additions) in changes.items():
        lines += _section(name, [*([] if name in early else removals), *additions])
    for use, one in old_lists.items():
        lines += [] if use in new_lists else _removal(one)
    return (*lines, *owns_removed(before, after))


def _lists(owned: Ios) -> Lists:
    lists: Lists = {(False, int(name)): one for name, one in sorted_by(by_number, owned.lists).items() if one.numbered}
    return lists | {(True, number): one for number, one in sorted(owned.rate_limit_lists.items())}


def _section(name: str, lines: Sequence[str]) -> list[str]:
    return [f"interface {name}", *indented(lines), " exit"] if lines else []


def _removal(one: AccessList | RateLimitList) -> list[str]:
    """A flow's list goes as a whole; of CAR's own lists IOS wants the line said (IOS, "access-list rate-limit")."""
    if isinstance(one, AccessList):
        return [f"no access-list {one.name}"]
    return [f"no {line}" for line in printed(one)]


def _use(one: RateLimit) -> Use:
    return one.by_precedence, one.acl


def _rate_limits(
    old: Sequence[RateLimit], new: Sequence[RateLimit], rewritten: Collection[Use]
) -> tuple[list[RateLimit], list[RateLimit]]:
    """The CAR lines that go, last first, and those that come."""
    common = 0
    while common < min(len(old), len(new)) and old[common] == new[common]:
        if _use(old[common]) in rewritten:
            break
        common += 1
    return list(reversed(old[common:])), list(new[common:])


def _queueing(old: Sequence[TosWeight], new: Sequence[TosWeight]) -> list[str]:
    """Lines of ToS-based WFQ. Lighter weights first: together they are 99 at most, at every moment."""
    if old and not new:
        return ["no fair-queue tos"]
    percents = DEFAULT_WEIGHTS | {one.tos: one.percent for one in old}
    changed = sorted((one.percent - percents[one.tos], one.tos, one) for one in new if one not in old)
    line_of = dict(zip(new, body(Interface("", tos_weights=tuple(new)))[1:], strict=False))
    return [*([] if old or not new else ["fair-queue tos"]), *(line_of[one] for _, _, one in changed)]
