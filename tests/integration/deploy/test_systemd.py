"""docs/howto/deploy.md's section on systemd: its commands in their order, on a machine where nothing of Slotcar is."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.support.documents import Command, steps
from tests.support.machines import checkout, in_machine, wheels_of_pip
from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]
UNIT, PROGRAM = (ROOT / "deploy" / "systemd" / name for name in ("slotcar.service", "slotcar"))
#: Of what an account of its own must be able to run.
OPEN = f"chmod go+x /root; {checkout(ROOT)}"
SYSTEMCTL = f'systemctl() {{ python3 {ROOT}/tests/support/unit_starter.py "$@"; }}\n'
INSTALL_TIMEOUT_S = 1700.0


def commands(section: str) -> list[str]:
    return [step.line for step in steps(ROOT / "docs" / "howto" / "deploy.md", section) if isinstance(step, Command)]


def test_systemd_takes_the_unit_and_its_program_is_the_one_of_the_page() -> None:
    script = f"install -D /bin/true /opt/slotcar/.venv/bin/slotcar && systemd-analyze verify {UNIT}"
    done = in_machine(script, PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")
    page = (ROOT / "docs" / "howto" / "deploy.md").read_text()
    for text in (UNIT.read_text(), PROGRAM.read_text(), page):
        assert "/opt/slotcar" in text
        assert "/var/lib/slotcar" in text


def test_the_program_has_the_units_account_settings_and_folder() -> None:
    settings = (
        "# a comment\n\nSLOTCAR_INVENTORY=/etc/slotcar/inventory\nSLOTCAR_APPROVAL_RATE=100 Mbit/s  \n"
        """SLOTCAR_OWNER_QUOTAS='{"hep": {"holds": 3}}'\nSLOTCAR_HOLD="20 min"\nSLOTCAR_HORIZON=$(id)"""
    )
    script = f"""
    useradd --system --user-group --home-dir /var/lib/slotcar --shell /usr/sbin/nologin slotcar
    mkdir /etc/slotcar; printf %s "$1" >/etc/slotcar/slotcar.env; export SLOTCAR_PROGRAM=/usr/bin/env
    {PROGRAM} sh -c 'id -un; id -gn; env'
    setpriv --reuid nobody --clear-groups {PROGRAM} sh -c 'id -un; env'
    """
    done = in_machine(script, PATIENCE_S, settings)
    account, _, another = done.stdout.partition("nobody\n")
    lines, others = account.splitlines(), another.splitlines()
    assert lines[:2] == ["slotcar", "slotcar"], done.stderr
    socket = "SLOTCAR_SOCKET=/run/slotcar/slotcar.sock"
    assert {line for line in lines if line.startswith(("SLOTCAR_", "HOME="))} == {
        "HOME=/var/lib/slotcar", "SLOTCAR_STATE_DIR=/var/lib/slotcar", "SLOTCAR_INVENTORY=/etc/slotcar/inventory",
        "SLOTCAR_APPROVAL_RATE=100 Mbit/s", 'SLOTCAR_OWNER_QUOTAS={"hep": {"holds": 3}}', "SLOTCAR_HOLD=20 min",
        "SLOTCAR_HORIZON=$(id)", "SLOTCAR_PROGRAM=/usr/bin/env", socket,
    }  # fmt: skip
    assert {line for line in others if line.startswith("SLOTCAR_")} == {
        "SLOTCAR_LOCAL=socket", "SLOTCAR_PROGRAM=/usr/bin/env", socket
    }  # fmt: skip


@pytest.mark.slow  # pip installs everything
@pytest.mark.timeout(1800)
def test_every_command_of_the_page_as_a_new_operator_says_them() -> None:
    whole = "\n".join(commands("With systemd"))
    after = """
    until python3 -c 'import urllib.request as u; u.urlopen("http://127.0.0.1:8470/healthz")' 2>/dev/null; do sleep 1; done
    echo "-- owners"; find /var/lib/slotcar /etc/slotcar/inventory ! -user slotcar
    find /var/lib/slotcar -name .ssh -prune -o -perm /077 -print
    echo "-- stop"; systemctl stop slotcar; slotcar db backup /var/lib/slotcar/first.backup
    systemctl start slotcar; systemctl stop slotcar; slotcar db status
    echo "-- root"
    SLOTCAR_STATE_DIR=/var/lib/slotcar /opt/slotcar/.venv/bin/slotcar token create another 2>&1
    """
    script = f"{OPEN}{SYSTEMCTL}export -f git systemctl\nset -e\ncd /root\n{whole}\necho '-- done'\nset +e\n{after}"
    done = in_machine(script, INSTALL_TIMEOUT_S, **wheels_of_pip())
    begun, _, rest = done.stdout.partition("-- done\n")
    assert rest, f"{begun[-3000:]}\n{done.stderr[-3000:]}"
    assert "slotcar_" in begun, "the token"
    owners, _, rest = rest.partition("-- stop\n")
    assert owners == "-- owners\n", done.stdout[-3000:]
    backed_up, _, root = rest.partition("-- root\n")
    assert "Backed up to /var/lib/slotcar/first.backup" in backed_up
    assert "current (embedded in /var/lib/slotcar;" in backed_up
    assert "belongs to the account slotcar, which could not read what root writes there" in " ".join(root.split())


def test_the_page_has_no_command_that_depends_on_another_folder() -> None:
    """Each may be said anew tomorrow, from wherever one is."""
    for line in commands("With systemd"):
        paths = [word for word in shlex.split(line) if "/" in word and "@" not in word and " " not in word]
        assert all(path.startswith(("/", ">>/", "SLOTCAR_")) for path in paths), line
