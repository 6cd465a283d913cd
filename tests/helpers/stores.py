"""What every store of a deployment's log must do, whatever lies beneath."""

from __future__ import annotations

import pytest

from unipac.deployment.store import Position, Record, Store


def record(seq, kind="reward", id_=None, wall=None, context=b"", vectors=b"", value=None):
    name = "" if id_ is None else f',"id":"{id_}"'
    name += "" if value is None else f',"value":{value}'
    when = "" if wall is None else f',"wall":{wall}'
    rest = f'{{"seq":{seq},"kind":"{kind}"{name}{when}}}'.encode()
    return Record(seq, kind, id_ if kind == "decide" else None, wall, rest, context, vectors)


def conforms(make, indexes=True):
    """``make()`` opens the same store again, after the one before was shut; the first time it is empty.

    ``indexes`` if it learns from ``closing`` alone what is closed; others read it from the records.
    """
    store = make()
    assert isinstance(store, Store)
    assert list(store.read(-1)) == []
    first = [record(0, "spec"), record(1, "decide", "a", 10.0, b'{"age":3}', b"AAAA AAAA")]
    store.ready()
    store.append(first)
    store.append([record(2, "decide", "b", 20.0, b"[1]", b"BBBB"), record(3, "reward", "a", value=0.5)])
    store.sync()
    assert [r.seq for r in store.read(-1)] == [0, 1, 2, 3]
    assert list(store.read(-1))[:2] == first
    assert [r.seq for r in store.read(1)] == [2, 3]
    assert isinstance(store.position(), Position)
    assert store.position().seq == 3
    assert not indexes or store.find("a") is None  # it waits, which the deployment knows
    store.closing["a"] = 0.5
    found = store.find("a")
    assert found.record == first[1]
    assert (found.value, found.offer) == (0.5, None)
    store.flush()
    assert store.find("a") == found
    assert store.indexed() == 3
    position, places = store.position(), [store.places()["b"]]
    store.keep(b"one", position)
    store.append([record(4, "forget", "b")])
    store.closing["b"] = None
    store.keep(b"two", store.position())
    store.append([record(5, "restart")])
    assert list(store.snapshots()) == [(4, b"two"), (3, b"one")]
    store.reconcile()  # nothing was interrupted
    assert store.position().seq == 5
    with pytest.raises(Exception, match=r"must|lock"):
        make()  # one writer at a time
    store.shut()
    with pytest.raises(ValueError, match="closed"):
        store.ready()

    store = make()
    store.restore(["b"], places, position)
    assert [r.seq for r in store.read(3, position) if r.kind != "actions"] == [4, 5]
    assert store.position().seq == 5
    assert store.find("a") == found
    assert (store.find("b").record.id, store.find("b").value) == ("b", None)
    assert store.find("c") is None
    assert store.trim(15.0, 0) == 1  # the context of a; no snapshot covers its vectors
    assert [(r.context, r.vectors) for r in store.read(0) if r.kind == "decide"] == [
        (None, b"AAAA AAAA"), (b"[1]", b"BBBB")
    ]  # fmt: skip
    assert store.trim(15.0, 4) == 1  # now its vectors as well
    assert next((r.context, r.vectors) for r in store.read(0) if r.kind == "decide") == (None, None)
    assert store.find("a").record.vectors is None
    assert store.find("b").record.vectors == b"BBBB"
    store.append([record(6, "decide", "c", 30.0)])
    store.shut()

    store = make()
    assert [r.seq for r in store.read(-1)] == list(range(7))
    store.index_anew()
    assert not indexes or store.find("a") is None
    for r in store.read(-1):
        if r.seq == 3:
            store.closing["a"] = 0.5
    store.flush()
    assert store.find("a").value == 0.5
    store.leave("a test")
    with pytest.raises(ValueError, match="a test"):
        store.ready()
