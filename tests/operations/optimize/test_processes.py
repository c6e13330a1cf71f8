"""Two writers and two maintainers at once in one table: what was confirmed is there exactly once."""

import pytest

from tests.support.ledger import Team, check_ledgers, create, plan
from tests.support.vacuum import put, stored


@pytest.mark.parametrize(
    ("is_clustered", "rounds", "retention_seconds"),
    [
        pytest.param(False, 10, 60, id="few"),
        pytest.param(False, 500, 40, id="many", marks=pytest.mark.slow),
        pytest.param(True, 500, 40, id="many-clustered", marks=pytest.mark.slow),
    ],
)
def test_nothing_is_lost_doubled_or_shown_again(tmp_path, is_clustered, rounds, retention_seconds):
    path, hours = str(tmp_path), retention_seconds / 3600
    create(path, is_clustered=is_clustered)
    strays = {"stray.parquet", f"sub/.{'0' * 32}.tmp"}
    put(tmp_path, *strays)
    team = Team(path, [plan(worker, rounds) for worker in (0, 1)], hours)
    team.start()
    ledgers, maintained = team.ledgers()
    check_ledgers(path, ledgers, hours)
    assert all(ledger.told for ledger in ledgers)
    assert maintained["optimize"] + maintained["compact"] + maintained["lay out"] > 0
    assert not strays & stored(tmp_path)
