"""Code points on the switch: how conforming packets are marked, what excess becomes, and which class of service queues it.

The maps are the switch's, not a port's: `mls qos map policed-dscp` (excess of a policer) and `mls qos map dscp-cos` (from
the packet's DSCP to the CoS by which a port queues).
"""

from __future__ import annotations

from dataclasses import dataclass

from slotcar.base.vocabulary import ASSURED_DSCPS, DSCP, PRECEDENCE, Marking, Service
from slotcar.network.model import Device
from slotcar.platforms.options import marking_of

#: What `SLOTCAR-OWNS` says of the switch's maps; of a port it says the name.
OWNS_MAPS = "mls qos map"
#: CoS by which ports queue. The default map (DSCP / 8) would put an assured rate and QBSS together into CoS 1.
COS_PREMIUM, COS_IN, COS_OUT, COS_QBSS, COS_BEST_EFFORT = 5, 3, 2, 1, 0
#: Nobody's, with best effort; network control, with the higher queue, as by default.
COS_OTHER, COS_CONTROL = (4,), (6, 7)

#: A map's entries: (`policed-dscp normal-burst` | `policed-dscp max-burst` | `dscp-cos`, DSCP) to DSCP or CoS.
Maps = dict[tuple[str, int], int]
NORMAL, MAXIMUM, TO_COS = "policed-dscp normal-burst", "policed-dscp max-burst", "dscp-cos"


@dataclass(frozen=True, slots=True)
class Marks:
    """One way to mark. DSCPs as the switch sees them; an IP precedence P is DSCP 8P there.

    Attributes:
        keyword: `dscp` or `prec`, of `set-dscp-transmit` and `set-prec-transmit`.
        match: what `match ip` calls it.
        unit: what one value of the keyword is as a DSCP.
        assured: conforming, above the committed rate, above the peak rate.
    """

    keyword: str
    match: str
    unit: int
    premium: int
    assured: tuple[int, int, int]
    qbss: int

    def conforming(self, service: Service) -> int:
        """The DSCP of a service's conforming packets."""
        return {
            Service.IP_PREMIUM: self.premium,
            Service.ASSURED_RATE: self.assured[0],
            Service.QBSS: self.qbss,
            Service.BEST_EFFORT: 0,
        }[service]

    def set_action(self, service: Service) -> str:
        return f"set-{self.keyword}-transmit {self.conforming(service) // self.unit}"

    def values(self, *dscps: int) -> tuple[int, ...]:
        """DSCPs as `match ip` wants them, each once."""
        return tuple(dict.fromkeys(dscp // self.unit for dscp in dscps))


BY_DSCP = Marks("dscp", "dscp", 1, DSCP[Service.IP_PREMIUM], ASSURED_DSCPS, DSCP[Service.QBSS])
#: Where the neighbours know no DSCP (GARA §4.2). An assured rate's excess is one precedence lower, yellow and red alike.
BY_PRECEDENCE = Marks(
    "prec",
    "precedence",
    8,
    8 * PRECEDENCE[Service.IP_PREMIUM],
    (8 * PRECEDENCE[Service.ASSURED_RATE], 16, 16),
    8 * PRECEDENCE[Service.QBSS],
)
_MARKS = {Marking.DSCP: BY_DSCP, Marking.PRECEDENCE: BY_PRECEDENCE}


def marks_of(device: Device) -> Marks:
    """`slotcar_options.marking`: `dscp` (the default) or `precedence`.

    Raises:
        Unrenderable: another value.
    """
    return _MARKS[marking_of(device)]


def default_of(key: tuple[str, int]) -> int:
    """What IOS has in a map before it is told otherwise (pp. 31-67, 31-68): no re-marking, and CoS = DSCP / 8."""
    kind, dscp = key
    return dscp // 8 if kind == TO_COS else dscp


def maps_for(marks: Marks, assured: bool, premium_remarked: bool) -> Maps:
    """The entries that differ from IOS's own.

    `assured`: the switch serves an assured rate; above CIR it becomes yellow by the first map, above PIR red by the
    second. `premium_remarked`: an SLS re-marks premium's excess to best effort; a policer with one bucket uses the
    second map (p. 31-69).
    """
    maps: Maps = {}
    if assured:
        green, yellow, red = marks.assured
        maps |= {(NORMAL, green): yellow, (MAXIMUM, green): red, (TO_COS, green): COS_IN}
        maps |= {(TO_COS, out): COS_OUT for out in (yellow, red)}
    if premium_remarked:
        maps[MAXIMUM, marks.premium] = DSCP[Service.BEST_EFFORT]
    return {key: value for key, value in sorted(maps.items()) if value != default_of(key)}


#: Every entry that may be Slotcar's, whatever the marking.
OURS = frozenset(
    key for marks in _MARKS.values() for assured in (True,) for key in maps_for(marks, assured, premium_remarked=True)
)
