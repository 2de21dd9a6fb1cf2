"""`Verdict`: what policies answer, and the sentence by which a caller is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slotcar.base.problems import SlotcarError
from slotcar.policy.reading import PolicyRule


class NotAllowed(SlotcarError):
    """A policy forbids it, or none permits it: the caller's role, somebody else's ownership, or a rule of the site."""


@dataclass(frozen=True, slots=True)
class NearPermit:
    """A permit that would have applied, but for some of its conditions; these are as Cedar writes them."""

    rule: PolicyRule
    failed: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.rule.name} ({self.rule.statement.file.rpartition('/')[2]}), but not: {' and '.join(self.failed)}"
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Attributes:
    by: the policies that decided: those that permit it, or those that forbid it.
    nearest: where no policy permits it, the permits with the fewest conditions that failed.
    errors: what went wrong in an evaluation. Any is a refusal: Cedar itself skips a policy that it cannot evaluate.
    """

    allowed: bool
    by: tuple[PolicyRule, ...] = ()
    nearest: tuple[NearPermit, ...] = ()
    errors: tuple[str, ...] = ()

    def sentence(self, words: Mapping[str, str]) -> str:
        """Why it is refused; a site's own policy that forbids it is named.

        Args:
            words: what `{who}`, `{what}` and the other names stand for.
        """
        who, what = words.get("who", ""), words.get("what", "")
        if self.errors:
            return f"{who} may not {what}: {self.errors[0]}"
        if self.by:
            rule = self.by[0]
            written = rule.annotations.get("refusal")
            if not written:
                return f"{who} may not {what}: the policy {rule.name} forbids it"
            return filled(written, words) + ("" if rule.ships else f" (the policy {rule.name})")
        if self.nearest and (written := self.nearest[0].rule.annotations.get("otherwise")):
            return filled(written, words)
        return f"{who} may not {what}: no policy permits it{_nearest_words(self.nearest)}"


def filled(sentence: str, words: Mapping[str, str]) -> str:
    """The sentence with what its names in braces stand for; they were checked when it was read."""
    return re.sub(r"\{(\w+)\}", lambda name: words.get(name[1], name[0]), sentence)


def _nearest_words(nearest: Sequence[NearPermit]) -> str:
    return f"; the nearest is {', or '.join(map(str, nearest))}" if nearest else ""
