"""Many games at once on a GPU, without a trip to the host.

One thread block solves one game by the method of :mod:`metricfit.solving.fast`, in double precision, and
certifies it: both bounds are exact best responses over all sizes, computed on the device. Nothing here
waits for the device, so that the solver can be captured in a CUDA graph.

The source is CUDA C++ in ``kernel``. It is compiled at the first use, by the NVRTC library that PyTorch comes
with; a C++ compiler makes the same source a program for tensors on the CPU, which is how it is tested.
"""

from metricfit.solving.device.batch import MOST_ITEMS, Layout, PlayedGames, solve_games

__all__ = ["MOST_ITEMS", "Layout", "PlayedGames", "solve_games"]
