"""Keys and configurations for ssh to the routers: made once per state directory, strict host keys, no passwords."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from slotcar_lab.errors import LabError
from slotcar_lab.plan import ACCOUNT
from slotcar_lab.requirements import which

LOOPBACK = "127.0.0.1"
SSH_CONFIG = "ssh_config"
FACTS = "facts.json"
CLIENT_KEY = "id_ed25519"
KNOWN_HOSTS = "known_hosts"
#: Directory of what the routers' ssh daemons read.
SSHD = "sshd"


def write_ssh(state_dir: Path, ports: dict[str, int], inside: str) -> None:
    """Make missing keys, and write each router's sshd configuration and the client's configuration.

    Args:
        ports: management port of each router on the loopback address of this machine.
        inside: what goes before a path of this machine to reach it where the routers are.
    """
    directory = state_dir / SSHD
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)
    client = _key(state_dir / CLIENT_KEY, "slotcar-lab")
    (directory / "authorized_keys").write_text(client)
    known = []
    for router, port in ports.items():
        public = _key(directory / f"{router}.host_key", router)
        kind_and_key = " ".join(public.split()[:2])
        known += [f"{host} {kind_and_key}\n" for host in (f"[{LOOPBACK}]:{port}", f"slotcar-{router}")]
        (directory / f"{router}.sshd_config").write_text(sshd_config(directory, router, inside))
    (state_dir / KNOWN_HOSTS).write_text("".join(known))
    (state_dir / SSH_CONFIG).write_text("".join(_client_host(state_dir, name, port) for name, port in ports.items()))
    facts = {router: _facts(state_dir, port) for router, port in ports.items()}
    (state_dir / FACTS).write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n")


def sshd_config(directory: Path, router: str, inside: str) -> str:
    """What an sshd needs that serves one connection from its standard input.

    No PAM, no DNS and one key exchange: with the defaults a login took 6 s in the guest.
    """
    return f"""HostKey {inside}{directory / router}.host_key
AuthorizedKeysFile {inside}{directory / "authorized_keys"}
AuthenticationMethods publickey
PermitRootLogin prohibit-password
AllowUsers {ACCOUNT}
StrictModes no
UsePAM no
UseDNS no
PrintMotd no
PrintLastLog no
PidFile none
KexAlgorithms curve25519-sha256
HostKeyAlgorithms ssh-ed25519
Ciphers chacha20-poly1305@openssh.com,aes128-gcm@openssh.com
MaxSessions 100
MaxStartups 200
MaxAuthTries 3
LoginGraceTime 60
TCPKeepAlive yes
AllowTcpForwarding no
X11Forwarding no
Subsystem sftp internal-sftp
"""


def _client_host(state_dir: Path, router: str, port: int) -> str:
    return f"""Host {router}
  HostName {LOOPBACK}
  Port {port}
  User {ACCOUNT}
  IdentityFile {state_dir / CLIENT_KEY}
  IdentitiesOnly yes
  UserKnownHostsFile {state_dir / KNOWN_HOSTS}
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  UpdateHostKeys no
  PreferredAuthentications publickey
  KexAlgorithms curve25519-sha256
  LogLevel ERROR

"""


def _facts(state_dir: Path, port: int) -> dict[str, str | int]:
    system_python = Path("/usr/bin/python3")
    return {
        "ansible_host": LOOPBACK,
        "ansible_port": port,
        "ansible_user": ACCOUNT,
        "ansible_ssh_private_key_file": str(state_dir / CLIENT_KEY),
        "ansible_ssh_common_args": (
            f"-o UserKnownHostsFile={state_dir / KNOWN_HOSTS} -o GlobalKnownHostsFile=/dev/null "
            "-o StrictHostKeyChecking=yes -o UpdateHostKeys=no -o IdentitiesOnly=yes "
            "-o KexAlgorithms=curve25519-sha256 -o LogLevel=ERROR"
        ),
        "ansible_python_interpreter": str(system_python) if system_python.exists() else base_python(),
        "known_hosts": str(state_dir / KNOWN_HOSTS),
    }


def base_python() -> str:
    """The interpreter below the virtual environment; it is visible in the guest as well."""
    return str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())


def _key(path: Path, comment: str) -> str:
    """The public half of a key, which is made where it is missing."""
    if not path.exists():
        argv = [which("ssh-keygen") or "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)]
        done = subprocess.run(argv, check=False, capture_output=True, text=True)
        if done.returncode:
            raise LabError(f"cannot make the ssh key {path.name}: {done.stderr.strip()}")
    return path.with_name(path.name + ".pub").read_text()
