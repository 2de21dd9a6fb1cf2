"""What attributes and conditions of the schema are called in words."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

#: An attribute by the way to it: a variable, and attributes one inside the other.
AttributePath = tuple[str, ...]

_WHOSE = {"owner": "its owner", "community": "the community of its owner", "domain": "its domain"}
_TOTALS = {
    "reservations": "the number of reservations that {} has",
    "peak_bps": "what {} has together at one instant",
    "volume_bits": "the volume that {} has together",
}
_USED = {
    "reservations": "the number of its reservations",
    "windows": "the number of its slots",
    "holds": "the number of its holds",
    "volume_bits": "its volume",
}
_WHEN = {"before": "{} as it was", "after": "{}", "quota": "the quota"}

#: What stands for a value.
NOUNS: Mapping[AttributePath, str] = {
    ("principal",): "who asks",
    ("resource",): "what is asked for",
    ("principal", "name"): "the name of who asks",
    ("principal", "owner"): "that of who asks",
    ("principal", "community"): "the community of who asks",
    ("principal", "domain"): "the domain of who asks",
    ("principal", "domain", "sla_bps"): "the rate of the SLSs of its domain",
    ("principal", "sla_bps"): "the rate of the SLSs of its domain",
    ("principal", "domain", "at_most_bps"): "the most that its agreement has",
    ("principal", "at_most_bps"): "the most that its agreement has",
    ("principal", "sls_at_most_bps"): "the highest rate of an SLS that its agreement has",
    ("principal", "services"): "the services of its agreement",
    ("resource", "owner"): "its owner",
    ("resource", "asked_by"): "the domain that asked for it",
    ("resource", "owners"): "the owners that the inventory names",
    ("resource", "accounts"): "the accounts of the owner there",
    ("context", "rate_bps"): "its rate",
    ("context", "duration_s"): "its duration",
    ("context", "duration_us"): "its duration",
    ("context", "volume_bits"): "its volume",
    ("context", "notice_s"): "the time until it begins",
    ("context", "hours"): "its hours",
    ("context", "weekdays"): "its weekdays",
    ("context", "labels"): "its labels",
    ("context", "service"): "its service",
    ("context", "upstream"): "the domain that sends",
    ("context", "downstream"): "the domain that accepts",
    ("context", "in_force_bps"): "the rate that is in force",
    ("context", "community"): "the community",
    ("context", "attested", "rate_bps"): "what its community's server has approved",
    ("context", "attested", "community"): "the community whose server has approved it",
    ("context", "peak_bps"): "what those who share it have together at one instant",
    ("context", "before_bps"): "what they had before",
    ("context", "share", "rate_bps"): "the share",
    ("context", "share", "hours"): "the hours of the share",
    ("context", "share", "services"): "the services of the share",
    ("context", "gate", "rate_bps"): "the rate that needs no approval",
    ("context", "gate", "duration_us"): "the duration that needs no approval",
    ("context", "granted"): "the accounts that it was given",
    ("context", "account"): "the account that it names",
    ("context", "delegation", "by"): "who handed it on",
    ("context", "delegation", "verbs"): "what was handed on",
    ("context", "delegation", "verb"): "what is asked",
    ("context", "delegation", "left_us"): "the time that is left of the delegation",
    **{("context", "totals", of, what): _TOTALS[what].format(_WHOSE[of]) for of, what in product(_WHOSE, _TOTALS)},
    **{("context", when, what): _WHEN[when].format(_USED[what]) for when, what in product(_WHEN, _USED)},
}
#: What is so, and what is so where it is not.
FACTS: Mapping[AttributePath, tuple[str, str]] = {
    ("context", "in_advance"): ("it begins more than a minute from now", "it begins at once"),
    ("context", "is_change"): ("it is a change", "it is new"),
    ("context", "is_opening"): ("it is new", "it is in force already"),
    ("context", "is_end"): ("it ends before its time", "it does not end before its time"),
    ("context", "is_hold"): ("it is a hold", "it is no hold"),
    ("context", "is_more"): ("it is more than what is in force", "it is no more than what is in force"),
    ("context", "by_operator"): ("an operator asks", "no operator asks"),
    ("context", "manages"): ("who asks manages the community", "who asks does not manage the community"),
    ("resource", "is_owned"): ("the inventory names who owns it", "the inventory names nobody who owns it"),
}
#: As `FACTS`, of attributes that may be missing: that they are there.
PRESENT: Mapping[AttributePath, tuple[str, str]] = {
    ("context", "attested"): ("its community's server has approved it", "no community's server has approved it"),
    ("context", "delegation"): ("who asks acts on a delegation", "who asks acts on no delegation"),
    ("context", "community"): ("it is about a community", "it is about no community"),
    ("context", "manages"): ("it is about a community", "it is about no community"),
    ("context", "totals", "community"): ("its owner is of a community", "its owner is of no community"),
    ("context", "totals", "domain"): ("its owner is of a domain", "its owner is of no domain"),
    ("principal", "community"): ("who asks is of a community", "who asks is of no community"),
    ("principal", "domain"): ("who asks is of a domain", "who asks is of no domain"),
    ("principal", "domain", "sla_bps"): ("its domain has such an SLS", "its domain has no such SLS"),
    ("principal", "sla_bps"): ("it has such an SLS", "it has no such SLS"),
    ("principal", "sls_at_most_bps"): ("its agreement has a rate for SLSs", "its agreement has no rate for SLSs"),
    ("resource", "asked_by"): ("another domain asked for it", "no other domain asked for it"),
}
#: That it is in an entity, by its type.
WITHIN: Mapping[str, tuple[str, str]] = {
    "Role": ("has the role {}", "has not the role {}"),
    "Group": ("is in the group {}", "is not in the group {}"),
    "Community": ("is of the community {}", "is not of the community {}"),
    "Owner": ("acts for the owner {}", "does not act for the owner {}"),
    "Domain": ("crosses the domain {}", "does not cross the domain {}"),
    "Service": ("is of the service {}", "is not of the service {}"),
    "Sls": ("is within the SLS {}", "is not within the SLS {}"),
    "Link": ("crosses the link {}", "does not cross the link {}"),
    "Host": ("is at the host {}", "is not at the host {}"),
    "Kind": ("is of the kind {}", "is not of the kind {}"),
}
#: Whom a policy is about, by the entity that it names, or by the type of a principal.
PRINCIPALS: Mapping[str, str] = {
    "Group": "members of the group {}",
    "Community": "members of the community {}",
    "Owner": "who acts for the owner {}",
    "Domain": "the neighbouring domain {}",
    "Role": "{}s",
}
TYPES: Mapping[str, str] = {
    "Domain": "a neighbouring domain",
    "Person": "a person",
    "Program": "a program",
    "Owner": "an owner",
}
#: Rights, and actions that are no verb of the API.
ACTIONS: Mapping[str, str] = {
    "see": "see reservations",
    "change": "change reservations",
    "plan": "plan",
    "ask": "ask what is offered",
    "overview": "see the whole controller",
    "operate": "operate it",
    "reserve": "reserve",
    "agree_sls": "agree on an SLS",
    "use_endpoint": "use an end system",
    "claim_host": "claim a host's resources",
    "bind_processes": "bind processes",
    "have": "have so much together",
    "use_share": "use what was shared out",
    "go_ahead": "go ahead without approval",
    "share_give": "give shares",
    "share_withdraw": "withdraw shares",
}
