"""The clients' verbs are methods that say at run time what they take and give."""

from __future__ import annotations

import inspect
import pydoc

import httpx
import pytest

from slotcar_client import AsyncSlotcar, Slotcar
from slotcar_client.__main__ import VERBS
from slotcar_client.wire import verbs


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_a_method_of_both_clients_with_its_signature(name: str) -> None:
    call = inspect.signature(VERBS[name])
    for client in (Slotcar, AsyncSlotcar):
        method = inspect.getattr_static(client, name)
        assert inspect.isfunction(method)
        assert method.__doc__ == VERBS[name].__doc__
        signature = inspect.signature(method)
        assert list(signature.parameters) == ["self", *call.parameters]
        assert call.return_annotation == f"Conversation[{signature.return_annotation}]"
    assert inspect.iscoroutinefunction(getattr(AsyncSlotcar, name))
    assert not inspect.iscoroutinefunction(getattr(Slotcar, name))


def test_both_clients_have_the_same_methods() -> None:
    both = {name for name in vars(Slotcar) if not name.startswith("_")} - {"close"}
    assert both == {name for name in vars(AsyncSlotcar) if not name.startswith("_")} - {"aclose"}
    assert both >= VERBS.keys()


def test_help_shows_parameters_and_words() -> None:
    shown = pydoc.render_doc(Slotcar.commit, renderer=pydoc.plaintext)
    assert "commit(self, /, which: 'str', *, version: 'int | None' = None)" in shown
    assert "Makes a hold firm" in shown
    with Slotcar("http://127.0.0.1:9") as slotcar:
        assert list(inspect.signature(slotcar.commit).parameters) == ["which", "version"]


def test_an_answer_that_takes_long_is_waited_for_by_its_verb_alone() -> None:
    waited: dict[str, float] = {}

    def answer(request: httpx.Request) -> httpx.Response:
        waited[request.url.path] = request.extensions["timeout"]["read"]
        return httpx.Response(200, json={"items": [], "different": [], "equal": [], "failed": []})

    with Slotcar("http://127.0.0.1:9", transport=httpx.MockTransport(answer), timeout_s=7) as slotcar:
        slotcar.differences()
        slotcar.holds()
    assert waited == {"/v1/differences": verbs.Differences.answer_s, "/v1/holds": 7}
