"""What the EMERGE experiments share: their network, at a quarter of its rates, and their three stages."""

#: Why a delay under a reservation is some milliseconds more than that of an idle pipe.
RESIDUE = (
    "What is left of delay is one frame that the pipe has begun, a bucket of HTB of two or three frames, and some tenths"
    " of a millisecond of each router for each packet. At a quarter of the rates a frame takes four times as long as in the"
    " paper: one of the background 1.1 ms at 10.5 Mb/s and 1.8 ms at 6.25 Mb/s, and the bucket 3 and 5 ms."
)
