"""SQL of users cannot leave its run, and costs no more than its limits. tests/full/sql_attacks measures all of it."""

import time

import pytest

import sql_attacks

BAD_INPUT = 2
# What heavy statements a run of CI can afford; the others are in tests/full/sql_attacks.
FEW_ENDLESS = ("levenshtein", "cross_join", "sort")


def parts(attacks, count):
    names = sorted(attacks)
    return [names[n::count] for n in range(count)]


@pytest.mark.parametrize("names", parts(sql_attacks.READS, 6), ids=range(6))
def test_nothing_but_the_run_can_be_read(neurolens, small_run, tmp_path, names):
    """Refused, with a message that tells no path."""
    places = {"bundle": neurolens.bundle(small_run), "state": neurolens.ledger / "state.sqlite", "outside": tmp_path / "outside"}
    before = neurolens.files(small_run)
    for name in names:
        result = neurolens("query", small_run, sql_attacks.READS[name].format(**places), "--format", "csv", code=None)
        assert result.code == BAD_INPUT and result.out == "", f"{name}: {result}"
        assert "root:" not in result.err, name
    assert neurolens.files(small_run) == before and not places["outside"].exists()


@pytest.mark.parametrize("kind", ["DEEP_JSON", "DEEP_SQL"])
def test_deep_nesting_ends_no_more_than_the_query(neurolens, small_run, kind):
    for name, sql in getattr(sql_attacks, kind).items():
        result = neurolens("query", small_run, sql, "--format", "csv", "--seconds", "20", code=None)
        assert result.code in (0, BAD_INPUT), f"{name}: {result}"
        assert result.code == 0 or result.err.startswith("neurolens: "), f"{name}: {result}"


@pytest.mark.parametrize("name", FEW_ENDLESS)
def test_a_statement_that_does_not_listen_is_ended(neurolens, small_run, name):
    begin = time.monotonic()
    result = neurolens("query", small_run, sql_attacks.ENDLESS[name], "--seconds", "1", code=BAD_INPUT)
    assert "longer than 1 s" in result.err
    assert time.monotonic() - begin < 60  # a fault would take hours; the limit itself is measured in tests/full


def test_the_first_signal_ends_a_statement_that_does_not_listen(neurolens, small_run):
    running = neurolens.start("query", small_run, sql_attacks.ENDLESS["levenshtein"])
    time.sleep(1)
    running.terminate()
    assert running.wait(timeout=60) != 0


def test_the_bytes_of_an_answer_are_limited(neurolens, small_run):
    sql = "SELECT repeat('a', 1000000) AS x FROM range(200)"
    answer = neurolens("query", small_run, sql, "--json").envelope
    shown = len(answer["data"]["rows"])
    assert shown == 64 * 2**20 // 1_000_000 and answer["data"]["rows_left_out"] == 200 - shown
    assert any("64 MB" in warning for warning in answer["warnings"])
    rows = neurolens("query", small_run, sql, "--format", "csv").out.splitlines()
    assert len(rows) == 201
