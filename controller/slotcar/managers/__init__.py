"""Resource managers: what can be reserved beside the network, each a Python package that registers by entry point.

The network and hosts are managers like those of third parties; `docs/howto/new-resource.md` says how to write one.
"""

from __future__ import annotations

from slotcar.managers.model import Allocation as Allocation
from slotcar.managers.model import CallOuts as CallOuts
from slotcar.managers.model import ManagerError as ManagerError
from slotcar.managers.model import Place as Place
from slotcar.managers.model import Request as Request
from slotcar.managers.model import ResourceManager as ResourceManager
from slotcar.managers.model import WrongVariable as WrongVariable
from slotcar.managers.model import option_words as option_words
from slotcar.managers.registry import GROUP as GROUP
from slotcar.managers.registry import manager_of as manager_of
from slotcar.managers.registry import managers as managers
from slotcar.managers.registry import request_of as request_of
