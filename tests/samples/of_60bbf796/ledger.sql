SELECT pg_catalog.set_config('search_path', '', false);
CREATE FUNCTION public.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
        RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
    END
    $$;
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.entry (
    number bigint NOT NULL,
    handle text NOT NULL,
    owner text NOT NULL,
    name text NOT NULL,
    state text NOT NULL,
    version integer NOT NULL,
    document jsonb NOT NULL,
    paths jsonb NOT NULL,
    resources text[] NOT NULL,
    amounts bigint[] NOT NULL,
    labels jsonb NOT NULL,
    start_us bigint NOT NULL,
    end_us bigint NOT NULL,
    hold_until timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    proposed jsonb,
    windows integer NOT NULL,
    volume_bits numeric NOT NULL,
    deadline_us bigint,
    progress jsonb,
    wire_bytes integer[],
    payload_bytes integer,
    change jsonb,
    group_handle text,
    CONSTRAINT entry_amounts CHECK (
CASE
    WHEN (cardinality(resources) = 0) THEN (cardinality(amounts) = 0)
    ELSE ((cardinality(amounts) > 0) AND ((cardinality(amounts) % cardinality(resources)) = 0))
END),
    CONSTRAINT entry_check CHECK ((start_us < end_us)),
    CONSTRAINT entry_version_check CHECK ((version > 0))
);
CREATE TABLE public.event (
    sequence bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    handle text,
    device text,
    details jsonb NOT NULL
);
CREATE TABLE public.flow (
    pair text NOT NULL,
    owner text NOT NULL,
    entry bigint NOT NULL,
    device text NOT NULL,
    source_port integer NOT NULL,
    destination_port integer NOT NULL,
    start_us bigint NOT NULL,
    end_us bigint NOT NULL
);
CREATE TABLE public.head (
    id integer NOT NULL,
    sequence bigint NOT NULL,
    event bigint NOT NULL,
    entry_number bigint NOT NULL,
    CONSTRAINT head_id_check CHECK ((id = 1))
);
CREATE TABLE public.idempotency (
    actor text NOT NULL,
    key text NOT NULL,
    request text NOT NULL,
    handle text NOT NULL,
    at timestamp with time zone NOT NULL
);
CREATE TABLE public.occupancy (
    sequence bigint NOT NULL,
    entry bigint NOT NULL,
    sign smallint NOT NULL,
    resources integer[] NOT NULL,
    amounts bigint[] NOT NULL,
    starts_us bigint[] NOT NULL,
    ends_us bigint[] NOT NULL,
    last_end_us bigint NOT NULL,
    CONSTRAINT occupancy_sign_check CHECK ((sign = ANY (ARRAY['-1'::integer, 1])))
);
CREATE TABLE public.resource (
    id integer NOT NULL,
    name text NOT NULL
);
CREATE SEQUENCE public.resource_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.resource_id_seq OWNED BY public.resource.id;
CREATE TABLE public.web_session (
    id_sha256 text NOT NULL,
    token_name text NOT NULL,
    token_sha256 text,
    zone text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    CONSTRAINT web_session_id_sha256_check CHECK ((length(id_sha256) = 64))
);
CREATE TABLE public.webhook (
    id text NOT NULL,
    url text NOT NULL,
    secret text NOT NULL,
    kinds text[] NOT NULL,
    "position" bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    created_by text NOT NULL,
    delivered_at timestamp with time zone,
    last_error text DEFAULT ''::text NOT NULL,
    owner text
);
CREATE TABLE public.webhook_delivery (
    webhook text NOT NULL,
    sequence bigint NOT NULL,
    lane text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    queued_at timestamp with time zone NOT NULL,
    next_at timestamp with time zone NOT NULL,
    dead_at timestamp with time zone,
    last_error text DEFAULT ''::text NOT NULL
);
ALTER TABLE ONLY public.resource ALTER COLUMN id SET DEFAULT nextval('public.resource_id_seq'::regclass);
INSERT INTO public.alembic_version VALUES ('0015');
INSERT INTO public.entry VALUES (3, 'r-2tfagxepffxrcbma', 'hep', 'nightly', 'committed', 1, '{"via": [], "name": "nightly", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 2000000, "reverse_bps": 0}, {"end": "2027-03-03T10:00:00Z", "start": "2027-03-03T08:00:00Z", "forward_bps": 2000000, "reverse_bps": 0}, {"end": "2027-03-04T10:00:00Z", "start": "2027-03-04T08:00:00Z", "forward_bps": 2000000, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": "Europe/Zurich", "direction": "forward", "if_unready": "delay", "recurrence": "FREQ=DAILY;COUNT=3", "destination": {"host": "lbnl-premium", "port": 5003}, "packet_size_bytes": 1500}', '[{"sls": ["anl-esnet-ip-premium", "esnet-lbnl-ip-premium"], "hops": [["anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"], ["anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"], ["esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"], ["lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"]], "source": "anl-premium", "service": "ip-premium", "unreserved": [], "destination": "lbnl-premium", "source_address": "10.20.11.2", "destination_address": "10.20.21.2"}]', '{if:anl-7507-1:FastEthernet4/0/0:in:ip-premium,if:anl-7507-1:ATM1/0/0:out:ip-premium,if:anl-7507-2:ATM1/0/0:in:ip-premium,if:anl-7507-2:ATM2/0/0.60:out:ip-premium,if:esnet-7507:ATM1/0/0.60:in:ip-premium,if:esnet-7507:ATM1/1/0.60:out:ip-premium,if:lbnl-7507:ATM1/0/0.60:in:ip-premium,if:lbnl-7507:FastEthernet4/0/0:out:ip-premium,sls:anl-esnet-ip-premium,sls:esnet-lbnl-ip-premium}', '{2089674,2304348,2304348,2304348,2304348,2304348,2304348,2089674,2038044,2038044}', '{"slotcar/set": "all"}', 1803974400000000, 1804154400000000, NULL, '2027-03-01 11:05:00+00', '2027-03-01 11:05:00+00', NULL, 3, 43200000000, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.entry VALUES (4, 'r-ydcnpeknk9ys4hw1', 'hep', 'varying', 'committed', 1, '{"via": [], "name": "varying", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T09:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 1000000, "reverse_bps": 0}, {"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T09:00:00Z", "forward_bps": 2000000, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5004}, "packet_size_bytes": 1500}', '[{"sls": ["anl-esnet-ip-premium", "esnet-lbnl-ip-premium"], "hops": [["anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"], ["anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"], ["esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"], ["lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"]], "source": "anl-premium", "service": "ip-premium", "unreserved": [], "destination": "lbnl-premium", "source_address": "10.20.11.2", "destination_address": "10.20.21.2"}]', '{if:anl-7507-1:FastEthernet4/0/0:in:ip-premium,if:anl-7507-1:ATM1/0/0:out:ip-premium,if:anl-7507-2:ATM1/0/0:in:ip-premium,if:anl-7507-2:ATM2/0/0.60:out:ip-premium,if:esnet-7507:ATM1/0/0.60:in:ip-premium,if:esnet-7507:ATM1/1/0.60:out:ip-premium,if:lbnl-7507:ATM1/0/0.60:in:ip-premium,if:lbnl-7507:FastEthernet4/0/0:out:ip-premium,sls:anl-esnet-ip-premium,sls:esnet-lbnl-ip-premium}', '{1044837,2089674,1152174,2304348,1152174,2304348,1152174,2304348,1152174,2304348,1152174,2304348,1152174,2304348,1044837,2089674,1019022,2038044,1019022,2038044}', '{"slotcar/set": "all"}', 1803974400000000, 1803981600000000, NULL, '2027-03-01 11:05:00+00', '2027-03-01 11:05:00+00', NULL, 2, 10800000000, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.entry VALUES (2, 'r-zpwww9wht1pke4dz', 'hep', 'both', 'committed', 2, '{"via": [], "name": "both", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 2000000, "reverse_bps": 2000000}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "both", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5002}, "packet_size_bytes": 1500}', '[{"sls": ["anl-esnet-ip-premium", "esnet-lbnl-ip-premium"], "hops": [["anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"], ["anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"], ["esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"], ["lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"]], "source": "anl-premium", "service": "ip-premium", "unreserved": [], "destination": "lbnl-premium", "source_address": "10.20.11.2", "destination_address": "10.20.21.2"}, {"sls": ["lbnl-esnet-ip-premium", "esnet-anl-ip-premium"], "hops": [["lbnl-7507", "FastEthernet4/0/0", "ATM1/0/0.60"], ["esnet-7507", "ATM1/1/0.60", "ATM1/0/0.60"], ["anl-7507-2", "ATM2/0/0.60", "ATM1/0/0"], ["anl-7507-1", "ATM1/0/0", "FastEthernet4/0/0"]], "source": "lbnl-premium", "service": "ip-premium", "unreserved": [], "destination": "anl-premium", "source_address": "10.20.21.2", "destination_address": "10.20.11.2"}]', '{if:anl-7507-1:FastEthernet4/0/0:in:ip-premium,if:anl-7507-1:ATM1/0/0:out:ip-premium,if:anl-7507-2:ATM1/0/0:in:ip-premium,if:anl-7507-2:ATM2/0/0.60:out:ip-premium,if:esnet-7507:ATM1/0/0.60:in:ip-premium,if:esnet-7507:ATM1/1/0.60:out:ip-premium,if:lbnl-7507:ATM1/0/0.60:in:ip-premium,if:lbnl-7507:FastEthernet4/0/0:out:ip-premium,sls:anl-esnet-ip-premium,sls:esnet-lbnl-ip-premium,if:lbnl-7507:FastEthernet4/0/0:in:ip-premium,if:lbnl-7507:ATM1/0/0.60:out:ip-premium,if:esnet-7507:ATM1/1/0.60:in:ip-premium,if:esnet-7507:ATM1/0/0.60:out:ip-premium,if:anl-7507-2:ATM2/0/0.60:in:ip-premium,if:anl-7507-2:ATM1/0/0:out:ip-premium,if:anl-7507-1:ATM1/0/0:in:ip-premium,if:anl-7507-1:FastEthernet4/0/0:out:ip-premium,sls:lbnl-esnet-ip-premium,sls:esnet-anl-ip-premium}', '{2089674,2304348,2304348,2304348,2304348,2304348,2304348,2089674,2038044,2038044,2089674,2304348,2304348,2304348,2304348,2304348,2304348,2089674,2038044,2038044}', '{"slotcar/set": "all"}', 1803974400000000, 1803981600000000, NULL, '2027-03-01 11:05:00+00', '2027-03-01 11:30:00+00', NULL, 1, 28800000000, NULL, NULL, NULL, NULL, '{"at": "2027-03-01T11:30:00+00:00", "before": []}', NULL);
INSERT INTO public.entry VALUES (5, 'r-h1xkhrbz4h3y3bkx', 'hep', 'bulk', 'committed', 1, '{"via": [], "name": "bulk", "need": {"by": "2027-03-02T12:00:00Z", "shape": "steady", "start": "2027-03-02T08:00:00Z", "at_most_bps": null, "at_least_bps": 0, "volume_bytes": 2000000000}, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T12:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 1111112, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5005}, "packet_size_bytes": 1500}', '[{"sls": ["anl-esnet-ip-premium", "esnet-lbnl-ip-premium"], "hops": [["anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"], ["anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"], ["esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"], ["lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"]], "source": "anl-premium", "service": "ip-premium", "unreserved": [], "destination": "lbnl-premium", "source_address": "10.20.11.2", "destination_address": "10.20.21.2"}]', '{if:anl-7507-1:FastEthernet4/0/0:in:ip-premium,if:anl-7507-1:ATM1/0/0:out:ip-premium,if:anl-7507-2:ATM1/0/0:in:ip-premium,if:anl-7507-2:ATM2/0/0.60:out:ip-premium,if:esnet-7507:ATM1/0/0.60:in:ip-premium,if:esnet-7507:ATM1/1/0.60:out:ip-premium,if:lbnl-7507:ATM1/0/0.60:in:ip-premium,if:lbnl-7507:FastEthernet4/0/0:out:ip-premium,sls:anl-esnet-ip-premium,sls:esnet-lbnl-ip-premium}', '{1160931,1280195,1280195,1280195,1280195,1280195,1280195,1160931,1132248,1132248}', '{"slotcar/set": "all"}', 1803974400000000, 1803988800000000, NULL, '2027-03-01 11:05:00+00', '2027-03-01 11:05:00+00', NULL, 1, 16000012800, 1803988800000000, NULL, '{1538,1696,1696,1696,1696,1696,1696,1538,1500,1500}', 1472, NULL, NULL);
INSERT INTO public.entry VALUES (6, 'r-zv4rz3m48h7j27de', 'hep', 'rest', 'committed', 1, '{"via": [], "name": "rest", "need": null, "owner": "hep", "share": {"weight": 2, "at_most_bps": 4000000, "at_least_bps": 1000000}, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 1000000, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5006}, "packet_size_bytes": 1500}', '[{"sls": ["anl-esnet-ip-premium", "esnet-lbnl-ip-premium"], "hops": [["anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"], ["anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"], ["esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"], ["lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"]], "source": "anl-premium", "service": "ip-premium", "unreserved": [], "destination": "lbnl-premium", "source_address": "10.20.11.2", "destination_address": "10.20.21.2"}]', '{if:anl-7507-1:FastEthernet4/0/0:in:ip-premium,if:anl-7507-1:ATM1/0/0:out:ip-premium,if:anl-7507-2:ATM1/0/0:in:ip-premium,if:anl-7507-2:ATM2/0/0.60:out:ip-premium,if:esnet-7507:ATM1/0/0.60:in:ip-premium,if:esnet-7507:ATM1/1/0.60:out:ip-premium,if:lbnl-7507:ATM1/0/0.60:in:ip-premium,if:lbnl-7507:FastEthernet4/0/0:out:ip-premium,sls:anl-esnet-ip-premium,sls:esnet-lbnl-ip-premium}', '{1044837,1152174,1152174,1152174,1152174,1152174,1152174,1044837,1019022,1019022}', '{"slotcar/set": "all"}', 1803974400000000, 1803981600000000, NULL, '2027-03-01 11:05:00+00', '2027-03-01 11:05:00+00', NULL, 1, 7200000000, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.entry VALUES (7, 'r-ecd33s44vv03nnsm', 'hep', 'large', 'awaiting-approval', 1, '{"via": [], "name": "large", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 12000000, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5007}, "packet_size_bytes": 1500}', '[{"sls": ["anl-esnet-ip-premium", "esnet-lbnl-ip-premium"], "hops": [["anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"], ["anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"], ["esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"], ["lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"]], "source": "anl-premium", "service": "ip-premium", "unreserved": [], "destination": "lbnl-premium", "source_address": "10.20.11.2", "destination_address": "10.20.21.2"}]', '{if:anl-7507-1:FastEthernet4/0/0:in:ip-premium,if:anl-7507-1:ATM1/0/0:out:ip-premium,if:anl-7507-2:ATM1/0/0:in:ip-premium,if:anl-7507-2:ATM2/0/0.60:out:ip-premium,if:esnet-7507:ATM1/0/0.60:in:ip-premium,if:esnet-7507:ATM1/1/0.60:out:ip-premium,if:lbnl-7507:ATM1/0/0.60:in:ip-premium,if:lbnl-7507:FastEthernet4/0/0:out:ip-premium,sls:anl-esnet-ip-premium,sls:esnet-lbnl-ip-premium}', '{12538044,13826087,13826087,13826087,13826087,13826087,13826087,12538044,12228261,12228261}', '{"slotcar/set": "all"}', 1803974400000000, 1803981600000000, NULL, '2027-03-01 11:05:00+00', '2027-03-01 11:05:00+00', NULL, 1, 86400000000, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.entry VALUES (8, 'r-hmhn91tmeb2rae83', 'astro', 'theirs', 'committed', 1, '{"via": [], "name": "theirs", "need": null, "owner": "astro", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 2000000, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5008}, "packet_size_bytes": 1500}', '[{"sls": ["anl-esnet-ip-premium", "esnet-lbnl-ip-premium"], "hops": [["anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"], ["anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"], ["esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"], ["lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"]], "source": "anl-premium", "service": "ip-premium", "unreserved": [], "destination": "lbnl-premium", "source_address": "10.20.11.2", "destination_address": "10.20.21.2"}]', '{if:anl-7507-1:FastEthernet4/0/0:in:ip-premium,if:anl-7507-1:ATM1/0/0:out:ip-premium,if:anl-7507-2:ATM1/0/0:in:ip-premium,if:anl-7507-2:ATM2/0/0.60:out:ip-premium,if:esnet-7507:ATM1/0/0.60:in:ip-premium,if:esnet-7507:ATM1/1/0.60:out:ip-premium,if:lbnl-7507:ATM1/0/0.60:in:ip-premium,if:lbnl-7507:FastEthernet4/0/0:out:ip-premium,sls:anl-esnet-ip-premium,sls:esnet-lbnl-ip-premium}', '{2089674,2304348,2304348,2304348,2304348,2304348,2304348,2089674,2038044,2038044}', '{"slotcar/set": "all"}', 1803974400000000, 1803981600000000, NULL, '2027-03-01 11:05:00+00', '2027-03-01 11:05:00+00', NULL, 1, 14400000000, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.entry VALUES (9, 'r-w6j0wcx8se0akj04', 'hep', 'scavenger', 'committed', 1, '{"via": [], "name": "scavenger", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 0, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "qbss", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5009}, "packet_size_bytes": 1500}', '[{"sls": [], "hops": [["anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"], ["anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"], ["esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"], ["lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"]], "source": "anl-premium", "service": "qbss", "unreserved": [], "destination": "lbnl-premium", "source_address": "10.20.11.2", "destination_address": "10.20.21.2"}]', '{}', '{}', '{"slotcar/set": "all"}', 1803974400000000, 1803981600000000, NULL, '2027-03-01 11:05:00+00', '2027-03-01 11:05:00+00', NULL, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.entry VALUES (10, 'r-8pgvj6jm7wgpfe1y', 'hep', 'job.line', 'committed', 1, '{"via": [], "name": "job.line", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-03T09:00:00Z", "start": "2027-03-03T08:00:00Z", "forward_bps": 1000000, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "together": {"group": "job", "on_failure": "end-all"}, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 6001}, "packet_size_bytes": 1500}', '[{"sls": ["anl-esnet-ip-premium", "esnet-lbnl-ip-premium"], "hops": [["anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"], ["anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"], ["esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"], ["lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"]], "source": "anl-premium", "service": "ip-premium", "unreserved": [], "destination": "lbnl-premium", "source_address": "10.20.11.2", "destination_address": "10.20.21.2"}]', '{if:anl-7507-1:FastEthernet4/0/0:in:ip-premium,if:anl-7507-1:ATM1/0/0:out:ip-premium,if:anl-7507-2:ATM1/0/0:in:ip-premium,if:anl-7507-2:ATM2/0/0.60:out:ip-premium,if:esnet-7507:ATM1/0/0.60:in:ip-premium,if:esnet-7507:ATM1/1/0.60:out:ip-premium,if:lbnl-7507:ATM1/0/0.60:in:ip-premium,if:lbnl-7507:FastEthernet4/0/0:out:ip-premium,sls:anl-esnet-ip-premium,sls:esnet-lbnl-ip-premium}', '{1044837,1152174,1152174,1152174,1152174,1152174,1152174,1044837,1019022,1019022}', '{"slotcar/set": "all"}', 1804060800000000, 1804064400000000, NULL, '2027-03-01 11:05:00+00', '2027-03-01 11:05:00+00', NULL, 1, 3600000000, NULL, NULL, NULL, NULL, NULL, 'g-pr6q18rpx7bnp372');
INSERT INTO public.entry VALUES (11, 'r-0d8rmmtwhq03pmgr', 'hep', 'grand.line', 'awaiting-approval', 1, '{"via": [], "name": "grand.line", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-03T09:00:00Z", "start": "2027-03-03T08:00:00Z", "forward_bps": 11000000, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "together": {"group": "grand", "on_failure": "end-all"}, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 6002}, "packet_size_bytes": 1500}', '[{"sls": ["anl-esnet-ip-premium", "esnet-lbnl-ip-premium"], "hops": [["anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"], ["anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"], ["esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"], ["lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"]], "source": "anl-premium", "service": "ip-premium", "unreserved": [], "destination": "lbnl-premium", "source_address": "10.20.11.2", "destination_address": "10.20.21.2"}]', '{if:anl-7507-1:FastEthernet4/0/0:in:ip-premium,if:anl-7507-1:ATM1/0/0:out:ip-premium,if:anl-7507-2:ATM1/0/0:in:ip-premium,if:anl-7507-2:ATM2/0/0.60:out:ip-premium,if:esnet-7507:ATM1/0/0.60:in:ip-premium,if:esnet-7507:ATM1/1/0.60:out:ip-premium,if:lbnl-7507:ATM1/0/0.60:in:ip-premium,if:lbnl-7507:FastEthernet4/0/0:out:ip-premium,sls:anl-esnet-ip-premium,sls:esnet-lbnl-ip-premium}', '{11493207,12673914,12673914,12673914,12673914,12673914,12673914,11493207,11209240,11209240}', '{"slotcar/set": "all"}', 1804060800000000, 1804064400000000, NULL, '2027-03-01 11:05:00+00', '2027-03-01 11:05:00+00', NULL, 1, 39600000000, NULL, NULL, NULL, NULL, NULL, 'g-wx6bfq0sw1avy42j');
INSERT INTO public.entry VALUES (12, 'r-axrn3yffd46fy58k', 'hep', 'held', 'held', 1, '{"via": [], "name": "held", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 1000000, "reverse_bps": 0}], "labels": {}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 7100}, "packet_size_bytes": 1500}', '[{"sls": ["anl-esnet-ip-premium", "esnet-lbnl-ip-premium"], "hops": [["anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"], ["anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"], ["esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"], ["lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"]], "source": "anl-premium", "service": "ip-premium", "unreserved": [], "destination": "lbnl-premium", "source_address": "10.20.11.2", "destination_address": "10.20.21.2"}]', '{if:anl-7507-1:FastEthernet4/0/0:in:ip-premium,if:anl-7507-1:ATM1/0/0:out:ip-premium,if:anl-7507-2:ATM1/0/0:in:ip-premium,if:anl-7507-2:ATM2/0/0.60:out:ip-premium,if:esnet-7507:ATM1/0/0.60:in:ip-premium,if:esnet-7507:ATM1/1/0.60:out:ip-premium,if:lbnl-7507:ATM1/0/0.60:in:ip-premium,if:lbnl-7507:FastEthernet4/0/0:out:ip-premium,sls:anl-esnet-ip-premium,sls:esnet-lbnl-ip-premium}', '{1044837,1152174,1152174,1152174,1152174,1152174,1152174,1044837,1019022,1019022}', '{}', 1803974400000000, 1803981600000000, '2027-03-01 21:10:00+00', '2027-03-01 11:10:00+00', '2027-03-01 11:10:00+00', NULL, 1, 7200000000, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.entry VALUES (13, 'r-6514xeqx96zd60ww', 'hep', 'gone', 'cancelled', 2, '{"via": [], "name": "gone", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 1000000, "reverse_bps": 0}], "labels": {}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 7101}, "packet_size_bytes": 1500}', '[{"sls": ["anl-esnet-ip-premium", "esnet-lbnl-ip-premium"], "hops": [["anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"], ["anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"], ["esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"], ["lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"]], "source": "anl-premium", "service": "ip-premium", "unreserved": [], "destination": "lbnl-premium", "source_address": "10.20.11.2", "destination_address": "10.20.21.2"}]', '{if:anl-7507-1:FastEthernet4/0/0:in:ip-premium,if:anl-7507-1:ATM1/0/0:out:ip-premium,if:anl-7507-2:ATM1/0/0:in:ip-premium,if:anl-7507-2:ATM2/0/0.60:out:ip-premium,if:esnet-7507:ATM1/0/0.60:in:ip-premium,if:esnet-7507:ATM1/1/0.60:out:ip-premium,if:lbnl-7507:ATM1/0/0.60:in:ip-premium,if:lbnl-7507:FastEthernet4/0/0:out:ip-premium,sls:anl-esnet-ip-premium,sls:esnet-lbnl-ip-premium}', '{1044837,1152174,1152174,1152174,1152174,1152174,1152174,1044837,1019022,1019022}', '{}', 1803974400000000, 1803981600000000, NULL, '2027-03-01 11:15:00+00', '2027-03-01 11:20:00+00', NULL, 1, 7200000000, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.entry VALUES (1, 'r-91k1aeeajrcf9f6r', 'hep', 'cms', 'committed', 2, '{"via": [], "name": "cms", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 2000000, "reverse_bps": 0}], "labels": {"run": "7", "slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5001}, "packet_size_bytes": 1500}', '[{"sls": ["anl-esnet-ip-premium", "esnet-lbnl-ip-premium"], "hops": [["anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"], ["anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"], ["esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"], ["lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"]], "source": "anl-premium", "service": "ip-premium", "unreserved": [], "destination": "lbnl-premium", "source_address": "10.20.11.2", "destination_address": "10.20.21.2"}]', '{if:anl-7507-1:FastEthernet4/0/0:in:ip-premium,if:anl-7507-1:ATM1/0/0:out:ip-premium,if:anl-7507-2:ATM1/0/0:in:ip-premium,if:anl-7507-2:ATM2/0/0.60:out:ip-premium,if:esnet-7507:ATM1/0/0.60:in:ip-premium,if:esnet-7507:ATM1/1/0.60:out:ip-premium,if:lbnl-7507:ATM1/0/0.60:in:ip-premium,if:lbnl-7507:FastEthernet4/0/0:out:ip-premium,sls:anl-esnet-ip-premium,sls:esnet-lbnl-ip-premium}', '{2089674,2304348,2304348,2304348,2304348,2304348,2304348,2089674,2038044,2038044}', '{"run": "7", "slotcar/set": "all"}', 1803974400000000, 1803981600000000, NULL, '2027-03-01 11:05:00+00', '2027-03-01 11:25:00+00', '{"at": "2027-03-01T11:25:00+00:00", "actor": "tester@cli", "paths": [{"sls": ["anl-esnet-ip-premium", "esnet-lbnl-ip-premium"], "hops": [["anl-7507-1", "FastEthernet4/0/0", "ATM1/0/0"], ["anl-7507-2", "ATM1/0/0", "ATM2/0/0.60"], ["esnet-7507", "ATM1/0/0.60", "ATM1/1/0.60"], ["lbnl-7507", "ATM1/0/0.60", "FastEthernet4/0/0"]], "source": "anl-premium", "service": "ip-premium", "unreserved": [], "destination": "lbnl-premium", "source_address": "10.20.11.2", "destination_address": "10.20.21.2"}], "demands": [["if:anl-7507-1:FastEthernet4/0/0:in:ip-premium", [11493207], 1538, 1472], ["if:anl-7507-1:ATM1/0/0:out:ip-premium", [12673914], 1696, 1472], ["if:anl-7507-2:ATM1/0/0:in:ip-premium", [12673914], 1696, 1472], ["if:anl-7507-2:ATM2/0/0.60:out:ip-premium", [12673914], 1696, 1472], ["if:esnet-7507:ATM1/0/0.60:in:ip-premium", [12673914], 1696, 1472], ["if:esnet-7507:ATM1/1/0.60:out:ip-premium", [12673914], 1696, 1472], ["if:lbnl-7507:ATM1/0/0.60:in:ip-premium", [12673914], 1696, 1472], ["if:lbnl-7507:FastEthernet4/0/0:out:ip-premium", [11493207], 1538, 1472], ["sls:anl-esnet-ip-premium", [11209240], 1500, 1472], ["sls:esnet-lbnl-ip-premium", [11209240], 1500, 1472]], "reservation": {"via": [], "name": "cms", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 11000000, "reverse_bps": 0}], "labels": {"run": "7", "slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5001}, "packet_size_bytes": 1500}}', 1, 79200000000, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.event VALUES (1, '2027-03-01 11:05:00+00', 'reservation.committed', 'r-91k1aeeajrcf9f6r', NULL, '{"name": "cms", "actor": "tester@cli", "owner": "hep", "version": 1, "reservation": {"via": [], "name": "cms", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 2000000, "reverse_bps": 0}], "labels": {"run": "7", "slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5001}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (2, '2027-03-01 11:05:00+00', 'reservation.committed', 'r-zpwww9wht1pke4dz', NULL, '{"name": "both", "actor": "tester@cli", "owner": "hep", "version": 1, "reservation": {"via": [], "name": "both", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 3000000, "reverse_bps": 1000000}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "both", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5002}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (3, '2027-03-01 11:05:00+00', 'reservation.committed', 'r-2tfagxepffxrcbma', NULL, '{"name": "nightly", "actor": "tester@cli", "owner": "hep", "version": 1, "reservation": {"via": [], "name": "nightly", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 2000000, "reverse_bps": 0}, {"end": "2027-03-03T10:00:00Z", "start": "2027-03-03T08:00:00Z", "forward_bps": 2000000, "reverse_bps": 0}, {"end": "2027-03-04T10:00:00Z", "start": "2027-03-04T08:00:00Z", "forward_bps": 2000000, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": "Europe/Zurich", "direction": "forward", "if_unready": "delay", "recurrence": "FREQ=DAILY;COUNT=3", "destination": {"host": "lbnl-premium", "port": 5003}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (4, '2027-03-01 11:05:00+00', 'reservation.committed', 'r-ydcnpeknk9ys4hw1', NULL, '{"name": "varying", "actor": "tester@cli", "owner": "hep", "version": 1, "reservation": {"via": [], "name": "varying", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T09:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 1000000, "reverse_bps": 0}, {"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T09:00:00Z", "forward_bps": 2000000, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5004}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (5, '2027-03-01 11:05:00+00', 'reservation.committed', 'r-h1xkhrbz4h3y3bkx', NULL, '{"name": "bulk", "actor": "tester@cli", "owner": "hep", "version": 1, "reservation": {"via": [], "name": "bulk", "need": {"by": "2027-03-02T12:00:00Z", "shape": "steady", "start": "2027-03-02T08:00:00Z", "at_most_bps": null, "at_least_bps": 0, "volume_bytes": 2000000000}, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T12:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 1111112, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5005}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (6, '2027-03-01 11:05:00+00', 'reservation.committed', 'r-zv4rz3m48h7j27de', NULL, '{"name": "rest", "actor": "tester@cli", "owner": "hep", "version": 1, "reservation": {"via": [], "name": "rest", "need": null, "owner": "hep", "share": {"weight": 2, "at_most_bps": 4000000, "at_least_bps": 1000000}, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 1000000, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5006}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (7, '2027-03-01 11:05:00+00', 'reservation.awaiting-approval', 'r-ecd33s44vv03nnsm', NULL, '{"name": "large", "actor": "tester@cli", "owner": "hep", "version": 1, "reservation": {"via": [], "name": "large", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 12000000, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5007}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (8, '2027-03-01 11:05:00+00', 'reservation.committed', 'r-hmhn91tmeb2rae83', NULL, '{"name": "theirs", "actor": "tester@cli", "owner": "astro", "version": 1, "reservation": {"via": [], "name": "theirs", "need": null, "owner": "astro", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 2000000, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5008}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (9, '2027-03-01 11:05:00+00', 'reservation.committed', 'r-w6j0wcx8se0akj04', NULL, '{"name": "scavenger", "actor": "tester@cli", "owner": "hep", "version": 1, "reservation": {"via": [], "name": "scavenger", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 0, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "qbss", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5009}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (10, '2027-03-01 11:05:00+00', 'reservation.committed', 'r-8pgvj6jm7wgpfe1y', NULL, '{"name": "job.line", "actor": "tester@cli", "owner": "hep", "version": 1, "reservation": {"via": [], "name": "job.line", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-03T09:00:00Z", "start": "2027-03-03T08:00:00Z", "forward_bps": 1000000, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "together": {"group": "job", "on_failure": "end-all"}, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 6001}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (11, '2027-03-01 11:05:00+00', 'reservation.awaiting-approval', 'r-0d8rmmtwhq03pmgr', NULL, '{"name": "grand.line", "actor": "tester@cli", "owner": "hep", "version": 1, "reservation": {"via": [], "name": "grand.line", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-03T09:00:00Z", "start": "2027-03-03T08:00:00Z", "forward_bps": 11000000, "reverse_bps": 0}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "together": {"group": "grand", "on_failure": "end-all"}, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 6002}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (12, '2027-03-01 11:10:00+00', 'reservation.held', 'r-axrn3yffd46fy58k', NULL, '{"name": "held", "actor": "tester@cli", "owner": "hep", "version": 1, "reservation": {"via": [], "name": "held", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 1000000, "reverse_bps": 0}], "labels": {}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 7100}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (13, '2027-03-01 11:15:00+00', 'reservation.committed', 'r-6514xeqx96zd60ww', NULL, '{"name": "gone", "actor": "tester@cli", "owner": "hep", "version": 1, "reservation": {"via": [], "name": "gone", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 1000000, "reverse_bps": 0}], "labels": {}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 7101}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (14, '2027-03-01 11:20:00+00', 'reservation.cancelled', 'r-6514xeqx96zd60ww', NULL, '{"name": "gone", "actor": "tester@cli", "owner": "hep", "reason": "a-trial", "version": 2}');
INSERT INTO public.event VALUES (15, '2027-03-01 11:25:00+00', 'reservation.change-proposed', 'r-91k1aeeajrcf9f6r', NULL, '{"name": "cms", "actor": "tester@cli", "owner": "hep", "before": {"via": [], "name": "cms", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 2000000, "reverse_bps": 0}], "labels": {"run": "7", "slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5001}, "packet_size_bytes": 1500}, "version": 2, "reservation": {"via": [], "name": "cms", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 11000000, "reverse_bps": 0}], "labels": {"run": "7", "slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "forward", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5001}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (16, '2027-03-01 11:30:00+00', 'reservation.modified', 'r-zpwww9wht1pke4dz', NULL, '{"name": "both", "actor": "tester@cli", "owner": "hep", "before": {"via": [], "name": "both", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 3000000, "reverse_bps": 1000000}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "both", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5002}, "packet_size_bytes": 1500}, "version": 2, "reservation": {"via": [], "name": "both", "need": null, "owner": "hep", "share": null, "slots": [{"end": "2027-03-02T10:00:00Z", "start": "2027-03-02T08:00:00Z", "forward_bps": 2000000, "reverse_bps": 2000000}], "labels": {"slotcar/set": "all"}, "rtt_us": 100000, "source": {"host": "anl-premium", "port": null}, "service": "ip-premium", "protocol": "udp", "timezone": null, "direction": "both", "if_unready": "delay", "recurrence": null, "destination": {"host": "lbnl-premium", "port": 5002}, "packet_size_bytes": 1500}}');
INSERT INTO public.event VALUES (17, '2027-03-02 07:30:00+00', 'push.verified', NULL, 'anl-7507-1', '{"lines": 3, "revision": "20270302T073000.000000Z-968d58a0", "activate_at": "2027-03-02T07:30:00+00:00"}');
INSERT INTO public.event VALUES (18, '2027-03-02 07:30:00+00', 'push.verified', NULL, 'lbnl-7507', '{"lines": 3, "revision": "20270302T073000.000000Z-968d58a0", "activate_at": "2027-03-02T07:30:00+00:00"}');
INSERT INTO public.event VALUES (19, '2027-03-02 08:00:00+00', 'push.verified', NULL, 'anl-7507-1', '{"lines": 3, "revision": "20270302T080000.000000Z-b254098f", "activate_at": "2027-03-02T08:00:00+00:00"}');
INSERT INTO public.event VALUES (20, '2027-03-02 08:00:00+00', 'push.verified', NULL, 'anl-7507-2', '{"lines": 3, "revision": "20270302T080000.000000Z-b254098f", "activate_at": "2027-03-02T08:00:00+00:00"}');
INSERT INTO public.event VALUES (21, '2027-03-02 08:00:00+00', 'push.verified', NULL, 'esnet-7507', '{"lines": 3, "revision": "20270302T080000.000000Z-b254098f", "activate_at": "2027-03-02T08:00:00+00:00"}');
INSERT INTO public.event VALUES (22, '2027-03-02 08:00:00+00', 'push.verified', NULL, 'lbnl-7507', '{"lines": 3, "revision": "20270302T080000.000000Z-b254098f", "activate_at": "2027-03-02T08:00:00+00:00"}');
INSERT INTO public.event VALUES (23, '2027-03-02 09:00:00+00', 'push.verified', NULL, 'anl-7507-1', '{"lines": 3, "revision": "20270302T090000.000000Z-534b1658", "activate_at": "2027-03-02T09:00:00+00:00"}');
INSERT INTO public.event VALUES (24, '2027-03-02 09:00:00+00', 'push.verified', NULL, 'anl-7507-2', '{"lines": 3, "revision": "20270302T090000.000000Z-534b1658", "activate_at": "2027-03-02T09:00:00+00:00"}');
INSERT INTO public.event VALUES (25, '2027-03-02 09:00:00+00', 'push.verified', NULL, 'esnet-7507', '{"lines": 3, "revision": "20270302T090000.000000Z-534b1658", "activate_at": "2027-03-02T09:00:00+00:00"}');
INSERT INTO public.event VALUES (26, '2027-03-02 09:00:00+00', 'push.verified', NULL, 'lbnl-7507', '{"lines": 3, "revision": "20270302T090000.000000Z-534b1658", "activate_at": "2027-03-02T09:00:00+00:00"}');
INSERT INTO public.flow VALUES ('10.20.11.2>10.20.21.2/udp', 'hep', 1, 'anl-7507-1', 0, 5001, 1803974400000000, 1803981600000000);
INSERT INTO public.flow VALUES ('10.20.11.2>10.20.21.2/udp', 'hep', 2, 'anl-7507-1', 0, 5002, 1803974400000000, 1803981600000000);
INSERT INTO public.flow VALUES ('10.20.21.2>10.20.11.2/udp', 'hep', 2, 'lbnl-7507', 5002, 0, 1803974400000000, 1803981600000000);
INSERT INTO public.flow VALUES ('10.20.11.2>10.20.21.2/udp', 'hep', 3, 'anl-7507-1', 0, 5003, 1803974400000000, 1804154400000000);
INSERT INTO public.flow VALUES ('10.20.11.2>10.20.21.2/udp', 'hep', 4, 'anl-7507-1', 0, 5004, 1803974400000000, 1803981600000000);
INSERT INTO public.flow VALUES ('10.20.11.2>10.20.21.2/udp', 'hep', 5, 'anl-7507-1', 0, 5005, 1803974400000000, 1803988800000000);
INSERT INTO public.flow VALUES ('10.20.11.2>10.20.21.2/udp', 'hep', 6, 'anl-7507-1', 0, 5006, 1803974400000000, 1803981600000000);
INSERT INTO public.flow VALUES ('10.20.11.2>10.20.21.2/udp', 'hep', 7, 'anl-7507-1', 0, 5007, 1803974400000000, 1803981600000000);
INSERT INTO public.flow VALUES ('10.20.11.2>10.20.21.2/udp', 'astro', 8, 'anl-7507-1', 0, 5008, 1803974400000000, 1803981600000000);
INSERT INTO public.flow VALUES ('10.20.11.2>10.20.21.2/udp', 'hep', 9, 'anl-7507-1', 0, 5009, 1803974400000000, 1803981600000000);
INSERT INTO public.flow VALUES ('10.20.11.2>10.20.21.2/udp', 'hep', 10, 'anl-7507-1', 0, 6001, 1804060800000000, 1804064400000000);
INSERT INTO public.flow VALUES ('10.20.11.2>10.20.21.2/udp', 'hep', 11, 'anl-7507-1', 0, 6002, 1804060800000000, 1804064400000000);
INSERT INTO public.flow VALUES ('10.20.11.2>10.20.21.2/udp', 'hep', 12, 'anl-7507-1', 0, 7100, 1803974400000000, 1803981600000000);
INSERT INTO public.head VALUES (1, 17, 26, 13);
INSERT INTO public.occupancy VALUES (1, 1, 1, '{2,1,3,4,5,6,7,8,9,10}', '{2089674,2304348,2304348,2304348,2304348,2304348,2304348,2089674,2038044,2038044}', '{1803974400000000}', '{1803981600000000}', 1803981600000000);
INSERT INTO public.occupancy VALUES (2, 2, 1, '{2,1,3,4,5,6,7,8,9,10,18,17,16,15,14,13,11,12,20,19}', '{3134511,3456522,3456522,3456522,3456522,3456522,3456522,3134511,3057066,3057066,1044837,1152174,1152174,1152174,1152174,1152174,1152174,1044837,1019022,1019022}', '{1803974400000000}', '{1803981600000000}', 1803981600000000);
INSERT INTO public.occupancy VALUES (3, 3, 1, '{2,1,3,4,5,6,7,8,9,10}', '{2089674,2304348,2304348,2304348,2304348,2304348,2304348,2089674,2038044,2038044}', '{1803974400000000,1804060800000000,1804147200000000}', '{1803981600000000,1804068000000000,1804154400000000}', 1804154400000000);
INSERT INTO public.occupancy VALUES (4, 4, 1, '{2,1,3,4,5,6,7,8,9,10}', '{1044837,2089674,1152174,2304348,1152174,2304348,1152174,2304348,1152174,2304348,1152174,2304348,1152174,2304348,1044837,2089674,1019022,2038044,1019022,2038044}', '{1803974400000000,1803978000000000}', '{1803978000000000,1803981600000000}', 1803981600000000);
INSERT INTO public.occupancy VALUES (5, 5, 1, '{2,1,3,4,5,6,7,8,9,10}', '{1160931,1280195,1280195,1280195,1280195,1280195,1280195,1160931,1132248,1132248}', '{1803974400000000}', '{1803988800000000}', 1803988800000000);
INSERT INTO public.occupancy VALUES (6, 6, 1, '{2,1,3,4,5,6,7,8,9,10}', '{1044837,1152174,1152174,1152174,1152174,1152174,1152174,1044837,1019022,1019022}', '{1803974400000000}', '{1803981600000000}', 1803981600000000);
INSERT INTO public.occupancy VALUES (7, 7, 1, '{2,1,3,4,5,6,7,8,9,10}', '{12538044,13826087,13826087,13826087,13826087,13826087,13826087,12538044,12228261,12228261}', '{1803974400000000}', '{1803981600000000}', 1803981600000000);
INSERT INTO public.occupancy VALUES (8, 8, 1, '{2,1,3,4,5,6,7,8,9,10}', '{2089674,2304348,2304348,2304348,2304348,2304348,2304348,2089674,2038044,2038044}', '{1803974400000000}', '{1803981600000000}', 1803981600000000);
INSERT INTO public.occupancy VALUES (9, 10, 1, '{2,1,3,4,5,6,7,8,9,10}', '{1044837,1152174,1152174,1152174,1152174,1152174,1152174,1044837,1019022,1019022}', '{1804060800000000}', '{1804064400000000}', 1804064400000000);
INSERT INTO public.occupancy VALUES (10, 11, 1, '{2,1,3,4,5,6,7,8,9,10}', '{11493207,12673914,12673914,12673914,12673914,12673914,12673914,11493207,11209240,11209240}', '{1804060800000000}', '{1804064400000000}', 1804064400000000);
INSERT INTO public.occupancy VALUES (11, 12, 1, '{2,1,3,4,5,6,7,8,9,10}', '{1044837,1152174,1152174,1152174,1152174,1152174,1152174,1044837,1019022,1019022}', '{1803974400000000}', '{1803981600000000}', 1803981600000000);
INSERT INTO public.occupancy VALUES (12, 13, 1, '{2,1,3,4,5,6,7,8,9,10}', '{1044837,1152174,1152174,1152174,1152174,1152174,1152174,1044837,1019022,1019022}', '{1803974400000000}', '{1803981600000000}', 1803981600000000);
INSERT INTO public.occupancy VALUES (13, 13, -1, '{2,1,3,4,5,6,7,8,9,10}', '{1044837,1152174,1152174,1152174,1152174,1152174,1152174,1044837,1019022,1019022}', '{1803974400000000}', '{1803981600000000}', 1803981600000000);
INSERT INTO public.occupancy VALUES (14, 1, -1, '{2,1,3,4,5,6,7,8,9,10}', '{2089674,2304348,2304348,2304348,2304348,2304348,2304348,2089674,2038044,2038044}', '{1803974400000000}', '{1803981600000000}', 1803981600000000);
INSERT INTO public.occupancy VALUES (15, 1, 1, '{2,1,3,4,5,6,7,8,9,10}', '{11493207,12673914,12673914,12673914,12673914,12673914,12673914,11493207,11209240,11209240}', '{1803974400000000}', '{1803981600000000}', 1803981600000000);
INSERT INTO public.occupancy VALUES (16, 2, -1, '{2,1,3,4,5,6,7,8,9,10,18,17,16,15,14,13,11,12,20,19}', '{3134511,3456522,3456522,3456522,3456522,3456522,3456522,3134511,3057066,3057066,1044837,1152174,1152174,1152174,1152174,1152174,1152174,1044837,1019022,1019022}', '{1803974400000000}', '{1803981600000000}', 1803981600000000);
INSERT INTO public.occupancy VALUES (17, 2, 1, '{2,1,3,4,5,6,7,8,9,10,18,17,16,15,14,13,11,12,20,19}', '{2089674,2304348,2304348,2304348,2304348,2304348,2304348,2089674,2038044,2038044,2089674,2304348,2304348,2304348,2304348,2304348,2304348,2089674,2038044,2038044}', '{1803974400000000}', '{1803981600000000}', 1803981600000000);
INSERT INTO public.resource VALUES (1, 'if:anl-7507-1:ATM1/0/0:out:ip-premium');
INSERT INTO public.resource VALUES (2, 'if:anl-7507-1:FastEthernet4/0/0:in:ip-premium');
INSERT INTO public.resource VALUES (3, 'if:anl-7507-2:ATM1/0/0:in:ip-premium');
INSERT INTO public.resource VALUES (4, 'if:anl-7507-2:ATM2/0/0.60:out:ip-premium');
INSERT INTO public.resource VALUES (5, 'if:esnet-7507:ATM1/0/0.60:in:ip-premium');
INSERT INTO public.resource VALUES (6, 'if:esnet-7507:ATM1/1/0.60:out:ip-premium');
INSERT INTO public.resource VALUES (7, 'if:lbnl-7507:ATM1/0/0.60:in:ip-premium');
INSERT INTO public.resource VALUES (8, 'if:lbnl-7507:FastEthernet4/0/0:out:ip-premium');
INSERT INTO public.resource VALUES (9, 'sls:anl-esnet-ip-premium');
INSERT INTO public.resource VALUES (10, 'sls:esnet-lbnl-ip-premium');
INSERT INTO public.resource VALUES (11, 'if:anl-7507-1:ATM1/0/0:in:ip-premium');
INSERT INTO public.resource VALUES (12, 'if:anl-7507-1:FastEthernet4/0/0:out:ip-premium');
INSERT INTO public.resource VALUES (13, 'if:anl-7507-2:ATM1/0/0:out:ip-premium');
INSERT INTO public.resource VALUES (14, 'if:anl-7507-2:ATM2/0/0.60:in:ip-premium');
INSERT INTO public.resource VALUES (15, 'if:esnet-7507:ATM1/0/0.60:out:ip-premium');
INSERT INTO public.resource VALUES (16, 'if:esnet-7507:ATM1/1/0.60:in:ip-premium');
INSERT INTO public.resource VALUES (17, 'if:lbnl-7507:ATM1/0/0.60:out:ip-premium');
INSERT INTO public.resource VALUES (18, 'if:lbnl-7507:FastEthernet4/0/0:in:ip-premium');
INSERT INTO public.resource VALUES (19, 'sls:esnet-anl-ip-premium');
INSERT INTO public.resource VALUES (20, 'sls:lbnl-esnet-ip-premium');
INSERT INTO public.webhook VALUES ('wh-a93bdc30b62f', 'https://example.net/hook', 'file:/nowhere/secret', '{reservation.held}', 16, '2027-03-01 11:35:00+00', 'tester@cli', NULL, '', NULL);
SELECT pg_catalog.setval('public.resource_id_seq', 20, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.entry
    ADD CONSTRAINT entry_handle_key UNIQUE (handle);
ALTER TABLE ONLY public.entry
    ADD CONSTRAINT entry_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY public.flow
    ADD CONSTRAINT flow_pkey PRIMARY KEY (pair, owner, entry, device, source_port, destination_port);
ALTER TABLE ONLY public.head
    ADD CONSTRAINT head_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (actor, key);
ALTER TABLE ONLY public.occupancy
    ADD CONSTRAINT occupancy_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY public.resource
    ADD CONSTRAINT resource_name_key UNIQUE (name);
ALTER TABLE ONLY public.resource
    ADD CONSTRAINT resource_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.web_session
    ADD CONSTRAINT web_session_pkey PRIMARY KEY (id_sha256);
ALTER TABLE ONLY public.webhook_delivery
    ADD CONSTRAINT webhook_delivery_pkey PRIMARY KEY (webhook, sequence);
ALTER TABLE ONLY public.webhook
    ADD CONSTRAINT webhook_pkey PRIMARY KEY (id);
CREATE INDEX entry_group ON public.entry USING btree (group_handle, number) WHERE (group_handle IS NOT NULL);
CREATE INDEX entry_group_name ON public.entry USING btree (owner, name) WHERE (group_handle IS NOT NULL);
CREATE INDEX entry_group_number ON public.entry USING btree (number) WHERE (group_handle IS NOT NULL);
CREATE INDEX entry_group_owner ON public.entry USING btree (owner, number) WHERE (group_handle IS NOT NULL);
CREATE INDEX entry_group_state ON public.entry USING btree (state, number) WHERE (group_handle IS NOT NULL);
CREATE INDEX entry_hold ON public.entry USING btree (hold_until) WHERE (state = ANY (ARRAY['held'::text, 'awaiting-approval'::text]));
CREATE INDEX entry_labels ON public.entry USING gin (labels jsonb_path_ops) WITH (gin_pending_list_limit='256') WHERE (labels <> '{}'::jsonb);
CREATE UNIQUE INDEX entry_live_name ON public.entry USING btree (owner, name) WHERE (state = ANY (ARRAY['held'::text, 'awaiting-approval'::text, 'committed'::text]));
CREATE INDEX entry_live_slots ON public.entry USING btree (end_us) WHERE ((windows > 1) AND (state = ANY (ARRAY['held'::text, 'awaiting-approval'::text, 'committed'::text])));
CREATE INDEX entry_live_start ON public.entry USING btree (start_us) WHERE (state = ANY (ARRAY['held'::text, 'awaiting-approval'::text, 'committed'::text]));
CREATE INDEX entry_owner ON public.entry USING btree (owner, name);
CREATE INDEX entry_state ON public.entry USING btree (state, number) WHERE (state <> 'committed'::text);
CREATE INDEX entry_time ON public.entry USING btree (end_us, start_us);
CREATE INDEX entry_transfers ON public.entry USING btree (deadline_us) WHERE ((deadline_us IS NOT NULL) AND (state = 'committed'::text));
CREATE INDEX entry_waits ON public.entry USING btree (number) WHERE ((state = 'awaiting-approval'::text) OR (proposed IS NOT NULL));
CREATE INDEX entry_words ON public.entry USING gin (to_tsvector('simple'::regconfig, translate(((owner || ' '::text) || name), '-_./:@'::text, '      '::text))) WITH (gin_pending_list_limit='256');
CREATE INDEX event_at ON public.event USING brin (at) WITH (autosummarize='on');
CREATE INDEX event_device ON public.event USING btree (device, sequence) WHERE (device IS NOT NULL);
CREATE INDEX event_handle ON public.event USING btree (handle, sequence) WHERE (handle IS NOT NULL);
CREATE INDEX flow_device ON public.flow USING btree (device, end_us, start_us);
CREATE INDEX occupancy_end ON public.occupancy USING btree (last_end_us);
CREATE INDEX occupancy_given_back ON public.occupancy USING btree (entry) WHERE (sign = '-1'::integer);
CREATE INDEX web_session_seen ON public.web_session USING btree (seen_at);
CREATE INDEX web_session_token ON public.web_session USING btree (token_name);
CREATE INDEX webhook_delivery_lane ON public.webhook_delivery USING btree (webhook, lane, sequence) WHERE (dead_at IS NULL);
CREATE TRIGGER event_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.event FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();
CREATE TRIGGER occupancy_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.occupancy FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();
ALTER TABLE ONLY public.flow
    ADD CONSTRAINT flow_entry_fkey FOREIGN KEY (entry) REFERENCES public.entry(number);
ALTER TABLE ONLY public.occupancy
    ADD CONSTRAINT occupancy_entry_fkey FOREIGN KEY (entry) REFERENCES public.entry(number);
ALTER TABLE ONLY public.webhook_delivery
    ADD CONSTRAINT webhook_delivery_webhook_fkey FOREIGN KEY (webhook) REFERENCES public.webhook(id) ON DELETE CASCADE;
