"""What a folder of policies says to nobody: a `forbid` in a file that is not read, of a group without members, or of a
host that is written otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from slotcar.base.located_yaml import line_of
from slotcar.base.problems import Problem
from slotcar.base.vocabulary import Service
from slotcar.policy.caller import Role
from slotcar.policy.reading import PolicyRule

_CEDAR = ".cedar"
_FILES = ("site.yml", "issuers.yml", "certificates.yml", "accounts.yml")


def files_not_read(folder: Path) -> Iterator[Problem]:
    """Files whose names are nearly those that are read. Keys, cases and other files may stand beside them."""
    for path in sorted(folder.iterdir()):
        if path.name in _FILES or path.suffix == _CEDAR:
            continue
        near = get_close_matches(path.name, _FILES, n=1, cutoff=0.8)
        if not near and get_close_matches(path.suffix, [_CEDAR], cutoff=0.7):
            near = [f"{path.stem}{_CEDAR}"]
        if near:
            yield Problem(str(path), 0, "", "is a name that is not read here", "", f"perhaps {near[0]} is meant")


def communities_of_nobody(
    folder: Path, of_issuers: Iterable[Iterable[str]], of_site: Collection[str], rules: Iterable[PolicyRule]
) -> Iterator[Problem]:
    """Communities that issuers put people into, of which neither `site.yml` nor a policy speaks, but of one of nearly that
    name. Others are communities of an issuer alone.

    Args:
        of_issuers: of each issuer, in the order of the file.
    """
    named = {name for rule in rules for kind, name in rule.entities if kind == "Community"} | set(of_site)
    path = folder / "issuers.yml"
    words = "is no community of site.yml, and no policy speaks of it"
    for number, communities in enumerate(of_issuers):
        for community in sorted({*communities} - named):
            if near := get_close_matches(community, named, n=1, cutoff=0.6):
                line = line_of(path, f"issuers[{number}].communities.{community}")
                yield Problem(str(path), line, "communities", words, community, f"perhaps {near[0]} is meant")


def without_members(
    rules: Iterable[PolicyRule], groups: Collection[str], communities: Collection[str]
) -> Iterator[Problem]:
    """Roles and services in policies that there are not, groups and communities that neither the site nor an issuer puts
    anybody in."""
    known = {
        "Role": {role.value for role in Role},
        "Service": {service.value for service in Service},
        "Group": set(groups),
        "Community": set(communities),
    }
    for rule in rules:
        for kind, name in sorted(rule.entities):
            if name in known.get(kind, {name}):
                continue
            listed = ", ".join(sorted(known[kind])) or "none"
            is_fixed = kind in ("Role", "Service")
            hint = f"known are {listed}" if is_fixed else f"site.yml and issuers.yml have {listed}"
            what = "nothing" if kind == "Service" else "nobody"
            yield _problem(rule, kind, name, f"{what} is in", hint)


def nearly_named(rules: Iterable[PolicyRule], known: Mapping[str, Collection[str]]) -> Iterator[Problem]:
    """What policies speak of that the inventory has not, but under nearly that name. Others may come yet.

    Args:
        known: names in the inventory, by the type of the entity.
    """
    for rule in rules:
        for kind, name in sorted(rule.entities):
            if name in known.get(kind, {name}):
                continue
            if near := get_close_matches(name, sorted(known[kind]), n=1, cutoff=0.8):
                yield _problem(rule, kind, name, "the inventory has no", f"perhaps {near[0]} is meant")


def _problem(rule: PolicyRule, kind: str, name: str, what: str, hint: str) -> Problem:
    entity = f'{kind}::"{name}"'
    return Problem(rule.statement.file, rule.statement.line_of(entity), rule.name, f"{what} {entity}", "", hint)
