"""Whoever tries too often is slowed down, and nobody is shut out for good."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select

from palestra.contest.accounts import rate_limit
from palestra.contest.accounts.rate_limit import (
    ADDRESS,
    BOTH,
    HOUR_MS,
    KNOWN_MS,
    LONGEST_WINDOW_MS,
    NAME,
    Buckets,
    end_sign_in,
    growing_ms,
    network_of,
    start_sign_in,
    take,
)
from palestra.contest.storage.database import reading, writing
from palestra.contest.storage.tables import tries
from tests.contest.conftest import Clock

MINUTE_MS = 60_000


def count(engine):
    with reading(engine) as connection:
        return connection.execute(select(func.count()).select_from(tries)).scalar_one()


# Windows


def test_a_limit_holds_in_a_sliding_window(engine, clock):
    for _ in range(3):
        assert take(engine, "reset:lin", clock(), 3, MINUTE_MS) == 0
        clock.advance(1_000)
    assert take(engine, "reset:lin", clock(), 3, MINUTE_MS) == MINUTE_MS - 3_000
    assert take(engine, "reset:lin", clock.advance(MINUTE_MS - 3_001), 3, MINUTE_MS) == 1
    assert take(engine, "reset:lin", clock.advance(1), 3, MINUTE_MS) == 0


def test_one_thing_does_not_count_for_another(engine, clock):
    take(engine, "reset:lin", clock(), 1, MINUTE_MS)
    assert take(engine, "reset:lin", clock(), 1, MINUTE_MS) > 0
    assert take(engine, "reset:li", clock(), 1, MINUTE_MS) == 0
    assert take(engine, "join:lin", clock(), 1, MINUTE_MS) == 0


def test_of_many_at_the_same_moment_no_more_than_the_limit_pass(engine, clock):
    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda _: take(engine, "join:a1", clock(), 3, MINUTE_MS), range(20)))
    assert waits.count(0) == 3 and count(engine) == 3


def test_a_clock_set_back_makes_nobody_wait_longer_than_the_window(engine, clock):
    take(engine, "reset:lin", clock(), 1, MINUTE_MS)
    assert take(engine, "reset:lin", clock() - 10 * MINUTE_MS, 1, MINUTE_MS) == MINUTE_MS


@pytest.mark.parametrize(("limit", "window_ms"), [(0, MINUTE_MS), (1, 0), (1, LONGEST_WINDOW_MS + 1)])
def test_a_window_that_could_not_be_counted_is_refused(engine, clock, limit, window_ms):
    with pytest.raises(ValueError, match="a day at most"):
        take(engine, "reset:lin", clock(), limit, window_ms)


@pytest.mark.parametrize("what", ["", "x" * 10_000, "a:\x00", "名:字", "a:\ud800"])
def test_any_text_can_be_counted_and_none_is_readable_in_the_table(engine, clock, what):
    take(engine, what, clock(), 1, MINUTE_MS)
    assert take(engine, what, clock(), 1, MINUTE_MS) > 0
    with reading(engine) as connection:
        kept = connection.execute(select(tries.c.what)).scalar_one()
    assert len(kept) <= 120 and (not what or what not in kept)


# Sign-in


def fail(engine, clock, name, address, times):
    """Somebody who guesses as fast as they may: how long that took."""
    begun = clock()
    for _ in range(times):
        wait_ms = start_sign_in(engine, name, address, clock())
        if wait_ms:
            clock.advance(wait_ms)
            assert start_sign_in(engine, name, address, clock()) == 0
    return clock() - begun


def test_the_first_failures_cost_nothing_and_then_the_wait_doubles(engine, clock):
    assert fail(engine, clock, "lin", "192.0.2.1", BOTH.free) == 0
    waits = [fail(engine, clock, "lin", "192.0.2.1", 1) for _ in range(4)]
    assert waits == [2_000, 4_000, 8_000, 16_000]


def test_the_wait_stops_growing_and_ends(engine, clock):
    fail(engine, clock, "lin", "192.0.2.1", BOTH.free + 10)
    assert 0 < start_sign_in(engine, "lin", "192.0.2.1", clock()) <= BOTH.longest_ms
    clock.advance(HOUR_MS)
    assert fail(engine, clock, "lin", "192.0.2.1", BOTH.free) == 0


def test_somebody_who_waits_is_not_counted_again(engine, clock):
    fail(engine, clock, "lin", "192.0.2.1", BOTH.free)
    before = count(engine)
    first = start_sign_in(engine, "lin", "192.0.2.1", clock())
    assert first > 0
    assert [start_sign_in(engine, "lin", "192.0.2.1", clock()) for _ in range(5)] == [first] * 5
    assert count(engine) == before


def test_one_address_that_tries_many_names_is_slowed(engine, clock):
    for number in range(ADDRESS.free):
        assert start_sign_in(engine, f"name{number}", "192.0.2.1", clock()) == 0
    assert start_sign_in(engine, "one more", "192.0.2.1", clock()) > 0
    assert start_sign_in(engine, "one more", "192.0.2.2", clock()) == 0


def test_one_household_of_ipv6_is_one_address(engine, clock):
    for number in range(ADDRESS.free):
        assert start_sign_in(engine, f"name{number}", f"2001:db8:1:2::{number:x}", clock()) == 0
    assert start_sign_in(engine, "one more", "2001:db8:1:2:ffff::1", clock()) > 0
    assert start_sign_in(engine, "one more", "2001:db8:1:3::1", clock()) == 0


def test_one_name_tried_from_many_addresses_is_slowed_at_each_second_try(engine, clock):
    for number in range(NAME.free):
        assert start_sign_in(engine, "lin", f"192.0.2.{number}", clock()) == 0
    assert 0 < start_sign_in(engine, "lin", "192.0.2.1", clock()) <= NAME.longest_ms


def test_strangers_do_not_shut_the_owner_out(engine, clock):
    for number in range(2 * NAME.free):
        assert start_sign_in(engine, "lin", f"192.0.2.{number}", clock()) == 0
    assert start_sign_in(engine, "lin", "198.51.100.7", clock()) == 0  # a first try from an address of their own
    assert (
        0 < start_sign_in(engine, "lin", "198.51.100.7", clock()) <= NAME.longest_ms
    )  # mistyped: half a minute at most


def test_at_an_address_known_for_a_name_only_its_own_failures_there_count(engine, clock):
    assert start_sign_in(engine, "lin", "198.51.100.7", clock()) == 0
    end_sign_in(engine, "lin", "198.51.100.7", clock())
    clock.advance(KNOWN_MS - 1)
    for number in range(100):
        start_sign_in(engine, "lin", f"192.0.2.{number}", clock())
        start_sign_in(engine, f"name{number}", "198.51.100.7", clock())
    assert fail(engine, clock, "lin", "198.51.100.7", BOTH.free) == 0
    assert start_sign_in(engine, "lin", "198.51.100.7", clock()) == 2_000


def test_an_address_is_not_known_for_ever(engine, clock):
    assert start_sign_in(engine, "lin", "198.51.100.7", clock()) == 0
    end_sign_in(engine, "lin", "198.51.100.7", clock())
    clock.advance(KNOWN_MS)
    for number in range(ADDRESS.free):
        start_sign_in(engine, f"name{number}", "198.51.100.7", clock())
    assert start_sign_in(engine, "lin", "198.51.100.7", clock()) > 0


def test_the_right_password_forgives_the_name_but_not_the_address(engine, clock):
    for number in range(ADDRESS.free - 1):
        start_sign_in(engine, f"name{number}", "192.0.2.1", clock())
    for _ in range(3):  # the attacker's own account, between guesses at others
        assert start_sign_in(engine, "attacker", "192.0.2.1", clock()) == 0
        end_sign_in(engine, "attacker", "192.0.2.1", clock())
    assert start_sign_in(engine, "name50", "192.0.2.1", clock()) == 0
    assert start_sign_in(engine, "name51", "192.0.2.1", clock()) > 0


def test_the_right_password_starts_the_count_anew(engine, clock):
    fail(engine, clock, "lin", "192.0.2.1", BOTH.free)
    clock.advance(start_sign_in(engine, "lin", "192.0.2.1", clock()))
    assert start_sign_in(engine, "lin", "192.0.2.1", clock()) == 0
    end_sign_in(engine, "lin", "192.0.2.1", clock())
    assert fail(engine, clock, "lin", "192.0.2.1", BOTH.free) == 0


def test_a_name_is_the_same_in_capitals(engine, clock):
    fail(engine, clock, "lin", "192.0.2.1", BOTH.free)
    assert start_sign_in(engine, " LIN ", "192.0.2.1", clock()) > 0


def test_a_thousand_guesses_at_the_same_moment_are_not_all_free(engine, clock):
    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda _: start_sign_in(engine, "lin", "192.0.2.1", clock()), range(30)))
    assert waits.count(0) == BOTH.free


def test_sweeping_keeps_known_addresses_longer_than_failures(engine, clock):
    start_sign_in(engine, "lin", "192.0.2.1", clock())
    end_sign_in(engine, "lin", "192.0.2.1", clock())
    start_sign_in(engine, "li", "192.0.2.2", clock())
    for at, left in ((LONGEST_WINDOW_MS - 1, 4), (LONGEST_WINDOW_MS, 1), (KNOWN_MS - 1, 1), (KNOWN_MS, 0)):
        with writing(engine) as connection:
            rate_limit.sweep(connection, clock() + at)
        assert count(engine) == left


def test_the_address_is_limited_more_strictly_than_the_name():
    assert ADDRESS.free < NAME.free and ADDRESS.longest_ms > NAME.longest_ms and ADDRESS.first_ms > NAME.first_ms


@given(st.integers(0, 10**9))
def test_the_wait_never_shrinks_and_never_passes_its_limit(failures):
    for slope in (BOTH, ADDRESS, NAME):
        now, after = growing_ms(failures, slope), growing_ms(failures + 1, slope)
        assert 0 <= now <= after <= slope.longest_ms


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unix", "unix"),
        ("", ""),
    ],
)
def test_what_counts_as_one_address(address, network):
    assert network_of(address) == network


# Buckets


def test_a_bucket_allows_a_burst_and_then_its_rate(clock):
    buckets = Buckets(rate_per_s=2, burst=3, now=clock)
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 500]
    assert buckets.take("b") == 0
    clock.advance(499)
    assert buckets.take("a") == 1
    clock.advance(1)
    assert [buckets.take("a"), buckets.take("a")] == [0, 500]
    clock.advance(3_600_000)
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 500]


def test_a_clock_set_back_fills_no_bucket(clock):
    buckets = Buckets(rate_per_s=1, burst=1, now=clock)
    assert buckets.take("a") == 0
    clock.advance(-5_000)
    assert buckets.take("a") > 0


def test_a_flood_of_addresses_does_not_grow_the_memory(clock):
    buckets = Buckets(rate_per_s=1, burst=5, now=clock, most=100)
    for number in range(10_000):
        buckets.take(f"192.0.{number}")
    assert len(buckets) == 100


def test_a_flood_of_addresses_does_not_get_round_the_limit(clock):
    buckets = Buckets(rate_per_s=1, burst=5, now=clock, most=100)
    passed = sum(buckets.take(f"192.0.{number % 5_000}") == 0 for number in range(20_000))
    assert passed <= 5 * (100 + Buckets.SHARED)


def test_those_who_were_there_before_a_flood_do_not_notice(clock):
    buckets = Buckets(rate_per_s=1, burst=5, now=clock, most=100)
    buckets.take("here before")
    for number in range(10_000):
        buckets.take(f"192.0.{number}")
    assert [buckets.take("here before") for _ in range(5)] == [0, 0, 0, 0, 1_000]


def test_after_a_flood_newcomers_have_places_again(clock):
    buckets = Buckets(rate_per_s=1, burst=5, now=clock, most=100)
    for number in range(1_000):
        buckets.take(f"192.0.{number}")
    clock.advance(5_000)
    assert [buckets.take("new") for _ in range(6)] == [0, 0, 0, 0, 0, 1_000]


@given(st.lists(st.tuples(st.integers(0, 3_000), st.sampled_from("abcd")), max_size=60), st.integers(1, 4))
def test_nobody_gets_more_than_burst_and_rate_in_any_stretch_of_time(steps, most):
    clock = Clock()
    buckets = Buckets(rate_per_s=1, burst=3, now=clock, most=most)
    passed = {}
    for ms, who in steps:
        clock.advance(ms)
        if buckets.take(who) == 0:
            passed.setdefault(who, []).append(clock())
    for times in passed.values():
        for first in range(len(times)):
            for last in range(first, len(times)):
                assert last - first + 1 <= 3 + (times[last] - times[first]) / 1_000 + 1e-9
