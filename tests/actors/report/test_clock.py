from actors.report._clock import Clock


def test_what_runs_without_a_break_is_drawn_to_scale() -> None:
    clock = Clock([(102.0, 110.0), (100.0, 103.0)])
    assert clock.length == 10.0
    assert [clock.place(time) for time in (100.0, 105.0, 110.0)] == [0.0, 5.0, 10.0]
    assert clock.place(99.0) == 0.0
    assert clock.place(111.0) == 10.0


def test_a_long_break_is_cut_out_and_what_lies_in_it_is_where_it_begins() -> None:
    clock = Clock([(0.0, 10.0), (10_000.0, 10_010.0)])
    assert len(clock.pieces) == 2
    assert clock.length < 21
    assert clock.place(5_000.0) == 10.0
    assert clock.place(10_001.0) - clock.place(10_000.0) == 1.0


def test_a_pause_that_is_short_or_a_small_part_stays() -> None:
    assert len(Clock([(0.0, 1.0), (5.0, 6.0)]).pieces) == 1
    assert len(Clock([(0.0, 1_000.0), (1_050.0, 2_000.0)]).pieces) == 1


def test_nothing_has_no_length() -> None:
    clock = Clock([])
    assert clock.length == 0.0
    assert clock.place(5.0) == 0.0
