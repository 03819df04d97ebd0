"""
Data parallel training: one game over all processes
===================================================

By default the loss plays a game over the batch of each process, as cross-entropy averages over it. With
``gather=True`` it plays one game over the batches of all processes, and the gradients are those of a single
process with the joint batch. Use it when the parts are small, or positives rare. Run this with two
processes on this machine::

    torchrun --nproc-per-node 2 examples/recipes/data_parallel.py

:doc:`../gallery/two_processes` shows the results with one process and with two.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import metricfit as mf


def make_data(n: int = 400) -> TensorDataset:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(n, 5, generator=generator)
    labels = features[:, 0] + 0.5 * torch.randn(n, generator=generator) > 1.0
    return TensorDataset(features, labels)


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    data = make_data()
    sampler = DistributedSampler(data, seed=0)
    # Without gather each process plays a game of its own, over its own samples.
    criterion = mf.MetricLoss(mf.f1, gather=True)
    batch_size = 32 // dist.get_world_size()
    model = DistributedDataParallel(torch.nn.Linear(5, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for epoch in range(5):
        sampler.set_epoch(epoch)
        for features, labels in DataLoader(data, batch_size=batch_size, sampler=sampler):
            optimizer.zero_grad()
            loss = criterion(model(features), labels)
            loss.backward()
            optimizer.step()
        if dist.get_rank() == 0:
            features, labels = data.tensors
            predicted = model.module(features).detach() > 0
            print(f"epoch {epoch}  loss {loss.item():.3f}  F1 {mf.f1.score(labels, predicted):.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
