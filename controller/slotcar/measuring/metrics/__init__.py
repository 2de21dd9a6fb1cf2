"""Metrics of IP performance by their RFCs: one-way delay, IPDV, loss, loss pattern, throughput. Pure.

A measurement is a sequence of `model.Stamp`. `delay.one_way` makes the stream of singletons from it, one for each packet
in the order of sending, and everything else is a statistic of that stream:

    stream = delay.one_way(stamps, waiting_us=3_000_000)
    delay.percentile(stream, 95), ipdv.consecutive(stream), loss.ratio(stream), pattern.lengths(stream)

Times are integers of microseconds. Both stamps of a packet come from one clock, or a delay also holds the clocks'
offset; loss and IPDV do not suffer from an offset that stays the same.

Audits judge SLSs by it (`slotcar.measuring.audits`), and the lab its experiments; it imports nothing of either.
(`controller/slotcar/api/metrics.py` is another thing, counters for Prometheus.)
"""
