"""Data parallel training under torchrun, two processes on gloo."""

from pathlib import Path

from loss.test_parallel import torchrun


def test_two_ranks_have_the_gradients_and_multipliers_of_one_process():
    torchrun(Path(__file__).with_name("ranks.py"))
