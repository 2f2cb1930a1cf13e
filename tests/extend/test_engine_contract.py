"""`check_engine` sees every kind of broken engine."""

from __future__ import annotations

import pytest

from fairaudit.errors import InputError
from fairaudit.extend import LocalEngine, check_engine


class ByCompletion(LocalEngine):
    def map(self, step, function, *items):
        return super().map(step, function, *items)[::-1]


class LeftToRight(LocalEngine):
    def sum(self, step, function, *items):
        return sum(super().map(step, function, *items))


class Losing(LocalEngine):
    def sum(self, step, function, *items):
        return super().sum(step, function, *[item[:9] for item in items])


class InPlace(LocalEngine):
    def sum(self, step, function, *items):
        pieces = super().map(step, function, *items)
        total = LocalEngine.sum(self, step, lambda piece: piece, pieces)
        pieces[0][:] = total
        return total


class Wrapping(LocalEngine):
    def map(self, step, function, *items):
        try:
            return super().map(step, function, *items)
        except InputError as error:
            raise RuntimeError("a worker failed") from error


class Silent(LocalEngine):
    def map(self, step, function, *items):
        try:
            return super().map(step, function, *items)
        except InputError:
            return [None]


class ByPartition(LocalEngine):
    def shuffled(self, frames, shards, left_out):
        return [frames[min(k, len(frames) - 1)] for k in range(shards)]


class Repeating(LocalEngine):
    def shuffled(self, frames, shards, left_out):
        found = super().shuffled(frames, shards, left_out)
        return [found[0]] * shards


class FewShards(LocalEngine):
    def shuffled(self, frames, shards, left_out):
        return super().shuffled(frames, 2, left_out)


class KeepingAll(LocalEngine):
    def shuffled(self, frames, shards, left_out):
        return super().shuffled(frames, shards, 0.0)


class Separating(LocalEngine):
    """Rows of one person go to several shards."""

    def shuffled(self, frames, shards, left_out):
        import pandas as pd

        whole = pd.concat(super().shuffled(frames, 1, left_out)).sort_values("value")
        return [whole[whole["value"] % shards == k] for k in range(shards)]


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        (LocalEngine, "LocalEngine is a class"),
        (object(), "object has no method 'map'"),
        (ByCompletion(), "in the order of the items"),
        (LeftToRight(), "added up in a different order"),
        (Losing(), "is not their sum"),
        (InPlace(), "changes the data"),
        (Wrapping(), "InputError in a piece arrives as RuntimeError"),
        (Silent(), "error in a piece is lost"),
        (ByPartition(), "depend on how the table is divided"),
        (FewShards(), "one frame per shard"),
        (Repeating(), "every row once"),
        (KeepingAll(), "every row once, except those of the sample"),
        (Separating(), "spread over several shards"),
    ],
)
def test_a_broken_engine_is_seen(engine, told):
    with pytest.raises(AssertionError, match=told) as error:
        check_engine(engine)
    assert "\n" not in str(error.value)
