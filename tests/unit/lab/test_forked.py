"""The agent's copies of itself: what a command's process does, they do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]

#: In an interpreter of its own, as the agent is: the test's own is not one to fork.
DRIVER = """
import os, signal, sys, time
from slotcar_lab.agent.forked import Forked
def run(source, *arguments, stdin=b"", kill=0):
    with Forked(source, ["program.py", *arguments], stdin=True) as child:
        if kill:
            assert child.stdout.read(6) == b"ready\\n"
            os.killpg(child.pid, kill)
        child.stdin.write(stdin)
        child.stdin.close()
        out, err = child.stdout.read(), child.stderr.read()
    assert child.poll() == child.wait()
    return child.returncode, out.decode(), err.decode()
"""


def drive(body: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER + body],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_it_has_its_arguments_its_streams_and_the_name_of_a_program() -> None:
    drive("""
source = "import sys; print(__name__, sys.argv, sys.stdin.read()); print('aside', file=sys.stderr)"
assert run(source, "a", "b", stdin=b"words") == (0, "__main__ ['program.py', 'a', 'b'] words\\n", "aside\\n")
""")


def test_the_modules_that_it_imports_are_those_that_came_with_it() -> None:
    drive("""
import slotcar_lab.agent.wire
sent = {"slotcar_lab.agent.wire": "WORD = 'sent'", "other": "from slotcar_lab.agent.wire import WORD"}
with Forked("import other; print(other.WORD)", ["program.py"], stdin=False, modules=sent) as child:
    assert child.stdout.read() == b"sent\\n", child.stderr.read()
assert not hasattr(slotcar_lab.agent.wire, "WORD"), "nor does the agent itself change"
""")


def test_its_status_is_the_programs_and_a_failure_says_where_it_was() -> None:
    drive("""
assert run("raise SystemExit(3)")[0] == 3
assert run("raise SystemExit")[0] == 0
status, _, words = run("x = 1\\nraise ValueError('no such rate')")
assert status == 1 and "program.py" in words and "line 2" in words and "no such rate" in words
""")


def test_a_signal_ends_it_and_what_it_started() -> None:
    drive("""
source = "import subprocess, time; subprocess.Popen(['sleep', '3600']); print('ready', flush=True); time.sleep(3600)"
assert run(source, kill=signal.SIGTERM)[0] == -signal.SIGTERM
""")


def test_it_has_none_of_the_agents_files_and_the_agent_none_of_its_doing() -> None:
    drive("""
secret = os.open(os.devnull, os.O_RDONLY)
os.set_inheritable(secret, True)
source = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1], os.getcwd()); os.chdir('/tmp')"
before = os.getcwd()
assert run(source) == (0, "[0, 1, 2] /\\n", "")
assert os.getcwd() == before
""")


def test_a_text_that_is_no_program_is_told_of() -> None:
    drive("""
try:
    run("def")
except SyntaxError:
    pass
else:
    raise AssertionError("it ran")
""")


@pytest.mark.skipif(os.geteuid() != 0, reason="entering a namespace needs root")
def test_a_namespace_has_its_own_interfaces_and_its_own_etc() -> None:
    name = f"slotcar-test-{os.getpid()}"
    etc = Path("/etc/netns") / name
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        etc.mkdir(parents=True)
        (etc / "nsswitch.conf").write_text("passwd: files\n")
        drive(f"""
import subprocess
from slotcar_lab.agent.namespaces import Namespace
inside = Namespace("{name}")
def there(argv):
    return inside.start(lambda: subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)).communicate()[0]
assert there(["ls", "/sys/class/net"]) == "lo\\n"
assert there(["cat", "/etc/nsswitch.conf"]) == "passwd: files\\n"
source = "import os; print(os.listdir('/sys/class/net'))"
with inside.start(lambda: Forked(source, ["program.py"], stdin=False)) as child:
    assert child.stdout.read() == b"['lo']\\n"
assert open("/etc/nsswitch.conf").read() != "passwd: files\\n"
try:
    Namespace("no-such-node")
except OSError as error:
    assert "no-such-node" in str(error)
else:
    raise AssertionError("it entered what is not there")
""")
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)
        shutil.rmtree(etc)
