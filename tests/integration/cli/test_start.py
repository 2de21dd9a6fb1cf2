"""What a command costs by itself: the modules that it imports and the calls that it makes. No clock is asked.

The numbers may only fall. Whoever makes a command lighter lowers its number here in the same commit; one that has to rise
says in its commit what it is for. Calls are those of Slotcar's own functions, module and class bodies included: they are
the same in each run, whatever is compiled already and whatever version the libraries have.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from slotcar.store import open_ledger
from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]
#: Prints as its last line on standard error what a command line imported and called.
PROGRAM = """
import gc, json, sys
gc.disable()  # what it would call in between depends on what lies about
here, known, calls = sys.argv.pop(1), set(sys.modules), 0

def note(frame, event, _argument):
    global calls
    calls += event == "call" and frame.f_code.co_filename.startswith(here)

sys.setprofile(note)
try:
    from slotcar.cli import main
    main()
except SystemExit as ended:
    code = ended.code
sys.setprofile(None)
names = [name for name in set(sys.modules) - known if name != "_"]
own = sum(name.partition(".")[0] in ("slotcar", "slotcar_client") for name in names)
tops = sorted({name.partition(".")[0] for name in names})
print(json.dumps({"code": code, "own": own, "all": len(names), "calls": calls, "tops": tops}), file=sys.stderr)
"""
#: What decides, pushes and migrates is built on: no command that only looks imports any of it.
HEAVY = {"alembic", "ansible", "ansible_runner", "highspy", "llvmlite", "numba", "numpy"}


def measured(*arguments: str, code: int = 0, **environment: str) -> dict[str, Any]:
    command = [sys.executable, "-c", PROGRAM, str(ROOT / "controller"), *arguments]
    variables = {"PATH": str(Path(sys.executable).parent), "HOME": "/nowhere", "PYTHONHASHSEED": "0", **environment}
    done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=PATIENCE_S, check=True)
    answer: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    assert answer.pop("code") == code, done.stderr
    return answer


def check(measures: dict[str, Any], held: dict[str, int]) -> None:
    assert not HEAVY & set(measures.pop("tops"))
    most = held | {"calls": held["calls"] * 101 // 100}  # a new class in a module that is imported is a call
    assert {name: count for name, count in measures.items() if count > most[name]} == {}, f"held at {held}"
    lower = {name: count for name, count in measures.items() if count < 0.9 * held[name]}
    assert lower == {}, "it costs a tenth less than what is held: write the new numbers here, so that they stay"


def test_help_imports_and_calls_no_more_than_it_did() -> None:
    check(measured("--help"), {"own": 72, "all": 673, "calls": 622})


def test_the_list_of_reservations_imports_and_calls_no_more_than_it_did(database_url: str, tmp_path: Path) -> None:
    open_ledger(database_url, tmp_path, migrate=True).close()
    lab = str(ROOT / "inventories" / "lab")
    where = {"SLOTCAR_DATABASE_URL": database_url, "SLOTCAR_STATE_DIR": str(tmp_path), "SLOTCAR_INVENTORY": lab}
    check(measured("status", **where), {"own": 252, "all": 790, "calls": 4575})
    one = measured("status", "hep/none", code=1, **where)
    assert not HEAVY & set(one["tops"]), "one reservation is looked up as lightly, and so is what is wrong told"
