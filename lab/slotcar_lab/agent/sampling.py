"""Asks tc how long an interface's queues are, again and again, on the router itself. Standard library only.

    sampling.py INTERFACE INTERVAL_S

Begins at the next whole interval. SIGTERM ends it; then it writes what tc answered, a line each: nanoseconds since the
epoch, a space, and tc's JSON.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time

#: One tc, which is fed a line for each question: a new process for each would cost more than the packets.
TC = ("stdbuf", "-oL", "tc", "-s", "-j", "-batch", "-")


def main(arguments: list[str]) -> int:
    interface, interval_s = arguments[0], float(arguments[1])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    answers: list[tuple[int, str]] = []
    with subprocess.Popen(
        TC, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, start_new_session=True
    ) as tc:
        assert tc.stdin is not None
        assert tc.stdout is not None
        try:
            while True:
                time.sleep(interval_s - time.time() % interval_s)
                tc.stdin.write(f"qdisc show dev {interface}\n")
                answer = tc.stdout.readline()
                if not answer:
                    print(f"tc ended with status {tc.wait()}", file=sys.stderr)
                    return 1
                answers.append((time.time_ns(), answer))
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            sys.stdout.write("".join(f"{at_ns} {answer}" for at_ns, answer in answers))
            with contextlib.suppress(BrokenPipeError):
                tc.stdin.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
