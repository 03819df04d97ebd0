"""Many games at once on a GPU, without a trip to the host.

One thread block solves one game by the method of :mod:`metricfit.solving.fast`, in double precision, and
certifies it: both bounds are exact best responses over all sizes, computed on the device. Nothing here
waits for the device, so that the solver can be captured in a CUDA graph.

The kernel is the C++ of ``cpp/core`` with the execution layer of ``cpp/gpu``. Tensors on the CPU are solved
by the same program, compiled for one thread per block; that is how it is tested without a GPU.
"""

from metricfit.solving.device.batch import SolvedGames, solve_games
from metricfit.solving.device.solving import judge_device, solve_device
from metricfit.solving.device.tables import MOST_ITEMS, Layout

__all__ = ["MOST_ITEMS", "Layout", "SolvedGames", "judge_device", "solve_device", "solve_games"]
