"""The tables as SQLAlchemy sees them. The migrations make them; a test compares the two."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Identity,
    Integer,
    MetaData,
    Numeric,
    SmallInteger,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

metadata = MetaData()

head = Table(
    "head",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("sequence", BigInteger, nullable=False),
    Column("event", BigInteger, nullable=False),
    Column("entry_number", BigInteger, nullable=False),
    Column("slss", BigInteger, nullable=False, server_default="0"),
)

resource = Table(
    "resource",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
)

entry = Table(
    "entry",
    metadata,
    Column("number", BigInteger, primary_key=True),
    Column("handle", Text, nullable=False, unique=True),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("document", JSONB, nullable=False),
    Column("paths", JSONB, nullable=False),
    Column("resources", ARRAY(Text), nullable=False),
    Column("amounts", ARRAY(BigInteger), nullable=False),
    Column("labels", JSONB, nullable=False),
    Column("start_us", BigInteger, nullable=False),
    Column("end_us", BigInteger, nullable=False),
    Column("hold_until", DateTime(timezone=True)),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("changed_at", DateTime(timezone=True), nullable=False),
    Column("proposed", JSONB),
    Column("windows", Integer, nullable=False),
    Column("volume_bits", Numeric, nullable=False),
    Column("deadline_us", BigInteger),
    Column("progress", JSONB),
    Column("wire_bytes", ARRAY(Integer)),
    Column("payload_bytes", Integer),
    Column("change", JSONB),
    Column("group_handle", Text),
    Column("delegations", JSONB),
    Column("requester", JSONB),
)

flow = Table(
    "flow",
    metadata,
    Column("pair", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("entry", BigInteger, primary_key=True),
    Column("device", Text, primary_key=True),
    Column("source_port", Integer, primary_key=True),
    Column("destination_port", Integer, primary_key=True),
    Column("start_us", BigInteger, nullable=False),
    Column("end_us", BigInteger, nullable=False),
)

occupancy = Table(
    "occupancy",
    metadata,
    Column("sequence", BigInteger, primary_key=True),
    Column("entry", BigInteger, nullable=False),
    Column("sign", SmallInteger, nullable=False),
    Column("resources", ARRAY(Integer), nullable=False),
    Column("amounts", ARRAY(BigInteger), nullable=False),
    Column("starts_us", ARRAY(BigInteger), nullable=False),
    Column("ends_us", ARRAY(BigInteger), nullable=False),
    Column("last_end_us", BigInteger, nullable=False),
)

event = Table(
    "event",
    metadata,
    Column("sequence", BigInteger, primary_key=True),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("kind", Text, nullable=False),
    Column("handle", Text),
    Column("device", Text),
    Column("details", JSONB, nullable=False),
)

community_share = Table(
    "community_share",
    metadata,
    Column("community", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("members", ARRAY(Text), nullable=False),
    Column("rate_bps", BigInteger, nullable=False),
    Column("until", DateTime(timezone=True)),
    Column("hours", ARRAY(Integer), nullable=False),
    Column("services", ARRAY(Text), nullable=False),
    Column("given_by", Text, nullable=False),
    Column("given_at", DateTime(timezone=True), nullable=False),
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("actor", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request", Text, nullable=False),
    Column("handle", Text, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
)

webhook = Table(
    "webhook",
    metadata,
    Column("id", Text, primary_key=True),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("kinds", ARRAY(Text), nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("created_by", Text, nullable=False),
    Column("delivered_at", DateTime(timezone=True)),
    Column("last_error", Text, nullable=False),
    Column("owner", Text),
)

webhook_delivery = Table(
    "webhook_delivery",
    metadata,
    Column("webhook", Text, primary_key=True),
    Column("sequence", BigInteger, primary_key=True),
    Column("lane", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("queued_at", DateTime(timezone=True), nullable=False),
    Column("next_at", DateTime(timezone=True), nullable=False),
    Column("dead_at", DateTime(timezone=True)),
    Column("last_error", Text, nullable=False),
)

counted = Table(
    "counted",
    metadata,
    Column("entry", BigInteger, primary_key=True),
    Column("direction", Text, primary_key=True),
    Column("service", Text, primary_key=True),
    Column("device", Text, primary_key=True),
    Column("interface", Text, primary_key=True),
    Column("step_s", Integer, primary_key=True),
    Column("start_us", BigInteger, primary_key=True),
    Column("counted_us", BigInteger, nullable=False),
    Column("reserved_bits", Numeric, nullable=False),
    Column("in_profile_packets", BigInteger, nullable=False),
    Column("in_profile_bytes", BigInteger, nullable=False),
    Column("out_of_profile_packets", BigInteger, nullable=False),
    Column("out_of_profile_bytes", BigInteger, nullable=False),
    Column("dropped_packets", BigInteger, nullable=False),
    Column("dropped_bytes", BigInteger, nullable=False),
    Column("remarks", ARRAY(Text), nullable=False),
)

counter_reading = Table(
    "counter_reading",
    metadata,
    Column("device", Text, primary_key=True),
    Column("asked_at", DateTime(timezone=True), nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("configuration", Text, nullable=False),
    Column("counts", JSONB, nullable=False),
)

web_session = Table(
    "web_session",
    metadata,
    Column("id_sha256", Text, primary_key=True),
    Column("token_name", Text, nullable=False),
    Column("token_sha256", Text),
    Column("zone", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("seen_at", DateTime(timezone=True), nullable=False),
    Column("issuer", Text),
    Column("claims", JSONB),
    Column("ends_at", DateTime(timezone=True)),
)

web_sign_in = Table(
    "web_sign_in",
    metadata,
    Column("browser_sha256", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("issuer", Text, nullable=False),
    Column("nonce", Text, nullable=False),
    Column("verifier", Text, nullable=False),
    Column("back", Text, nullable=False),
    Column("zone", Text, nullable=False),
    Column("begun_at", DateTime(timezone=True), nullable=False),
)


def _connections(name: str, *more: Column[Any]) -> Table:
    return Table(
        name,
        metadata,
        Column("id", Text, primary_key=True),
        Column("phase", Text, nullable=False),
        Column("settled", Boolean, nullable=False),
        Column("revision", Integer, nullable=False),
        Column("ends", DateTime(timezone=True), nullable=False),
        Column("document", JSONB, nullable=False),
        Column("changed_at", DateTime(timezone=True), nullable=False),
        *more,
    )


connection = _connections("connection", Column("due", DateTime(timezone=True)))
#: Those that were asked for by NSI, and those of which a neighbour was asked by NSI.
nsi_provided, nsi_requested = _connections("nsi_provided"), _connections("nsi_requested")

#: What is said of the segments of a connection, each by its own domain; `heard_from`: the neighbour that said so.
connection_segment = Table(
    "connection_segment",
    metadata,
    Column("connection", Text, primary_key=True),
    Column("domain", Text, primary_key=True),
    Column("heard_from", Text, nullable=False),
    Column("stated_at", DateTime(timezone=True), nullable=False),
    Column("document", JSONB, nullable=False),
)
#: Tickets that were taken, until they end: each is for one attempt of one connection.
domain_ticket = Table(
    "domain_ticket",
    metadata,
    Column("issuer", Text, primary_key=True),
    Column("number", Text, primary_key=True),
    Column("connection", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("ends", DateTime(timezone=True), nullable=False),
)

#: SLSs that domains agree on while they run (`slotcar.book.agreed_slss`).
agreed_sls = Table(
    "agreed_sls",
    metadata,
    Column("number", BigInteger, Identity(always=True), primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("rests_on", Text, nullable=False),
    Column("attempt", Text, nullable=False),
    Column("in_force", JSONB),
    Column("proposed", JSONB),
    Column("over", Boolean, nullable=False),
    Column("closed", Text, nullable=False),
)

transfer_sample = Table(
    "transfer_sample",
    metadata,
    Column("number", BigInteger, Identity(always=True), primary_key=True),
    Column("source", Text, nullable=False),
    Column("destination", Text, nullable=False),
    Column("source_domain", Text, nullable=False),
    Column("destination_domain", Text, nullable=False),
    Column("volume_bytes", Numeric, nullable=False),
    Column("started_at", DateTime(timezone=True), nullable=False),
    Column("ended_at", DateTime(timezone=True), nullable=False),
    Column("tool", Text, nullable=False),
    Column("reserved_bps", BigInteger),
    Column("estimated_us", BigInteger),
    Column("low_us", BigInteger),
    Column("high_us", BigInteger),
    Column("least_us", BigInteger),
    Column("most_us", BigInteger),
)

probe_sample = Table(
    "probe_sample",
    metadata,
    Column("number", BigInteger, Identity(always=True), primary_key=True),
    Column("source", Text, nullable=False),
    Column("destination", Text, nullable=False),
    Column("source_domain", Text, nullable=False),
    Column("destination_domain", Text, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("tool", Text, nullable=False),
    Column("rtt_us", BigInteger),
    Column("throughput_bps", BigInteger),
    Column("loss_ppm", Integer),
)

audit_window = Table(
    "audit_window",
    metadata,
    Column("sls", Text, primary_key=True),
    Column("source", Text, primary_key=True),
    Column("destination", Text, primary_key=True),
    Column("step_s", Integer, primary_key=True),
    Column("start_us", BigInteger, primary_key=True),
    Column("measured_us", BigInteger, nullable=False),
    Column("arrived_packets", BigInteger, nullable=False),
    Column("lost_packets", BigInteger, nullable=False),
    Column("unanswered_packets", BigInteger, nullable=False),
    Column("remarked_packets", BigInteger, nullable=False),
    Column("untold_packets", BigInteger, nullable=False),
    Column("clock_error_us", BigInteger),
    Column("variation_error_us", BigInteger, nullable=False),
    Column("least_delay_us", BigInteger),
    Column("delays", JSONB, nullable=False),
    Column("variations", JSONB, nullable=False),
    Column("loss_periods", BigInteger, nullable=False),
    Column("longest_loss", BigInteger, nullable=False),
    Column("shortest_distance", BigInteger),
)

audit_way = Table(
    "audit_way",
    metadata,
    Column("sls", Text, primary_key=True),
    Column("source", Text, primary_key=True),
    Column("destination", Text, primary_key=True),
    Column("until_us", BigInteger, nullable=False),
    Column("verdict", Text, nullable=False),
)
