"""Names of NSI CS 2.1 (OGF GFD.237): namespaces, protocol versions, kinds of messages, numbers of errors."""

from __future__ import annotations

from enum import Enum

SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
TYPES = "http://schemas.ogf.org/nsi/2013/12/connection/types"
HEADERS = "http://schemas.ogf.org/nsi/2013/12/framework/headers"
FRAMEWORK = "http://schemas.ogf.org/nsi/2013/12/framework/types"
P2P = "http://schemas.ogf.org/nsi/2013/12/services/point2point"
DISCOVERY = "http://schemas.ogf.org/nsi/2014/02/discovery/nsa"
NML = "http://schemas.ogf.org/nml/2013/05/base#"
#: Of the attribute `SOAPAction`, before the message's name.
ACTION = "http://schemas.ogf.org/nsi/2013/12/connection/service/"
PROVIDER_VERSION = "application/vnd.ogf.nsi.cs.v2.provider+soap"
REQUESTER_VERSION = "application/vnd.ogf.nsi.cs.v2.requester+soap"
DISCOVERY_TYPE = "application/vnd.ogf.nsi.nsa.v1+xml"
TOPOLOGY_TYPE = "application/vnd.ogf.nsi.topology.v2+xml"
#: What the service is called where a request names none.
SERVICE_TYPE = "http://services.ogf.org/nsi/2013/12/descriptions/EVTS.A-GOLE"


class Fault(Enum):
    """Numbers of errors that a service exception has (GFD.237, "Service exceptions")."""

    PAYLOAD = "00100"
    MISSING_PARAMETER = "00101"
    UNSUPPORTED_PARAMETER = "00102"
    NOT_IMPLEMENTED = "00103"
    VERSION_NOT_SUPPORTED = "00104"
    CONNECTION = "00200"
    INVALID_TRANSITION = "00201"
    NO_CONNECTION = "00203"
    SECURITY = "00300"
    UNAUTHORIZED = "00302"
    NO_PATH = "00403"
    INTERNAL = "00500"
    RESOURCE_UNAVAILABLE = "00600"
    SERVICE = "00700"
    UNKNOWN_STP = "00701"
    CAPACITY_UNAVAILABLE = "00705"
