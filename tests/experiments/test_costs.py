"""What a recipe costs: medians, of one core, beside cross-entropy on the same data and processor."""

import time

import pytest

from metricfit.experiments.clock import now, processor
from metricfit.experiments.costs import costs


def a_cell(loss, epoch, dataset="redwine", processor="one", **more):
    return {
        "loss": loss,
        "dataset": dataset,
        "processor": processor,
        "versions": {"torch": "2"},
        "epoch_seconds": epoch,
        "seconds": 10.0 * (epoch or 1.0),
        **more,
    }


def test_an_epoch_is_compared_with_that_of_cross_entropy_on_each_data_set_by_medians():
    cells = [
        *(a_cell("cross-entropy", seconds, name) for name, seconds in (("a", 1.0), ("b", 2.0), ("c", 4.0))),
        *(a_cell("metricfit", seconds, name) for name, seconds in (("a", 2.0), ("b", 6.0), ("c", 40.0))),
    ]
    found = costs(cells)["metricfit"]
    assert (found.times, found.whole, found.sets) == (3.0, 60.0, 3)


def test_times_of_another_processor_or_of_shared_clocks_are_not_compared():
    cells = [
        a_cell("cross-entropy", 1.0),
        a_cell("metricfit", 2.0),
        a_cell("metricfit", 9.0, processor="two"),
    ]
    early = a_cell("metricfit", 50.0)
    del early["epoch_seconds"]
    assert costs([*cells, early])["metricfit"].times == 2.0


def test_an_estimator_has_no_epochs():
    found = costs([a_cell("cross-entropy", 1.0), a_cell("trees", None)])["trees"]
    assert (found.times, found.whole) == (None, 10.0)


def test_waiting_for_other_work_does_not_count():
    begun = now("cpu")
    time.sleep(0.3)
    assert now("cpu") - begun < 0.2


def test_the_processor_has_a_name():
    assert processor("cpu")


@pytest.mark.parametrize("cells", [[], [a_cell("metricfit", 1.0)]])
def test_without_cross_entropy_there_is_nothing_to_compare_with(cells):
    assert costs(cells) == {}
