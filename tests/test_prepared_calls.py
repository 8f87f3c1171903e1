"""The table of prepared calls: bounded, ordered by use, dropped by refresh, without a trace of layers that are gone."""

import gc

import aiter_compat as ac
from aiter_compat.prepared_calls import MISSED, Kind, KnownLayers, PreparedCalls, Shelf


class Layer:
    """Something that weak references can follow, as tensors and MoEWeights are."""


def answering(number):
    """A prepared call for (layer, number) that gives the number back, and counts how often it was asked."""

    def run(layer, given):
        run.asked += 1
        return given if given == number else MISSED

    run.asked = 0
    return run


def kind(number, *, trusted=False):
    known = KnownLayers(lambda layer: ("known", number), layer=0, scalars=(1,)) if trusted else None
    return Kind(answering(number), known)


def test_the_kind_that_takes_a_call_is_found_whatever_was_added_since():
    calls, layer = PreparedCalls(), Layer()
    for number in range(50):
        calls.add(kind(number), (layer, number))
    for number in (0, 49, 20):
        assert calls.search((layer, number)) == number
    assert calls.search((layer, 50)) is MISSED


def test_what_was_used_last_is_tried_first():
    calls, layer = PreparedCalls(), Layer()
    kinds = [kind(number) for number in range(20)]
    for number, one in enumerate(kinds):
        calls.add(one, (layer, number))
    assert kinds[3].run not in calls.first
    calls.search((layer, 3))
    assert calls.first[0] is kinds[3].run
    asked = kinds[19].run.asked
    calls.search((layer, 3))
    assert kinds[19].run.asked == asked


def test_kinds_are_bounded_and_the_one_unused_longest_goes():
    calls, layer = PreparedCalls(), Layer()
    for number in range(1000):
        calls.add(kind(number), (layer, number))
        calls.search((layer, 0))
    assert calls.search((layer, 0)) == 0
    found = [number for number in range(1000) if calls.search((layer, number)) is not MISSED]
    assert len(found) == 128
    assert found[0] == 0
    assert found[1:] == list(range(873, 1000))


def test_without_trust_no_layer_is_known():
    calls, layer = PreparedCalls(), Layer()
    calls.add(kind(1), (layer, 1))
    assert calls.known is None


def test_a_layer_is_known_for_as_long_as_it_lives():
    calls, layers = PreparedCalls(), [Layer() for _ in range(3)]
    calls.add(kind(1, trusted=True), (layers[0], 1))
    for layer in layers[1:]:
        assert calls.search((layer, 1)) == 1
    table = calls.known
    assert set(table) == {id(layer) for layer in layers}
    ((seen, run),) = table[id(layers[2])]
    assert (seen, run(layers[2])) == (1, ("known", 1))
    gone = id(layers.pop(0))
    gc.collect()
    assert gone not in table
    assert len(table) == 2
    del layer, layers
    gc.collect()
    assert table == {}


def test_entries_of_one_layer_are_bounded():
    calls, layer = PreparedCalls(), Layer()
    for number in range(100):
        calls.add(kind(number, trusted=True), (layer, number))
    assert [entry[0] for entry in calls.known[id(layer)]] == list(range(99, 91, -1))


def test_refresh_puts_an_empty_table_in_place_and_leaves_the_old_one_to_who_holds_it():
    shelf = Shelf()
    before, other = shelf.plain, shelf.full
    before.add(kind(1), (Layer(), 1))
    ac.refresh()
    assert shelf.plain is not before
    assert shelf.full is not other
    assert shelf.plain.search((Layer(), 1)) is MISSED
    before.add(kind(2), (Layer(), 2))  # a call that was being prepared when the process changed
    assert shelf.plain.search((Layer(), 2)) is MISSED
