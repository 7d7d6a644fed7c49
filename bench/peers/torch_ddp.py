"""The 3DGAN's training in PyTorch DDP over gloo, one process a host, measured on request: torch_ddp.py --batch 16

RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say where it stands, GLOO_SOCKET_IFNAME which network is meant. It prints "ready" when
it is warm. For each line "go together|alone MICRO_BATCHES" it computes a step of so many micro-batches of --batch showers, their
gradients added up before they travel, and prints a line of JSON with times of CLOCK_MONOTONIC: begin, end, and for each of the four
updates when the last gradient was there ("ready") and when the sums of all hosts were ("end"). "alone": all of it without
communication (no_sync). Unlike torch_step.py the optimiser's update is included.

Running batch statistics stay each host's own (broadcast_buffers=False): nothing but gradients travels.
"""

import contextlib
import json
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

import peer
import torch_step
from modes import MODES


class Watched:
    """A network under DDP, its optimiser, and when the last of its buckets was handed over for the sum."""

    def __init__(self, network):
        self.network = DistributedDataParallel(network, broadcast_buffers=False, gradient_as_bucket_view=True)
        self.optimizer = torch.optim.RMSprop(network.parameters(), lr=1e-5, alpha=0.9, eps=1e-7)
        self.ready = 0.0
        self.network.register_comm_hook(None, self.sum)

    def sum(self, state, bucket):
        self.ready = time.monotonic()
        return default_hooks.allreduce_hook(state, bucket)

    def update(self, losses, together):
        for number, loss_of in enumerate(losses, 1):
            with contextlib.nullcontext() if together and number == len(losses) else self.network.no_sync():
                (loss_of() / len(losses)).backward()
        times = {"ready": self.ready if together else time.monotonic(), "end": time.monotonic()}
        self.optimizer.step()
        self.optimizer.zero_grad()
        return times


class Training:
    def __init__(self, arguments):
        self.work = torch_step.Peer(arguments)
        self.bare = self.work.discriminator
        self.generator, self.discriminator = Watched(self.work.generator), Watched(self.work.discriminator)

    def step(self, micro_batches, together):
        work, begin = self.work, time.monotonic()
        work.generator, work.discriminator = self.generator.network.module, self.discriminator.network
        fakes = [work.fakes().clone() for _ in range(micro_batches)]
        work.discriminator.train().requires_grad_(True)
        updates = [
            self.discriminator.update([lambda i=i: self.discriminator_loss(i, 1.0) for i in [work.image] * micro_batches], together),
            self.discriminator.update([lambda i=i: self.discriminator_loss(i, 0.0) for i in fakes], together),
        ]
        work.generator, work.discriminator = self.generator.network, self.bare
        work.generator.train()
        work.discriminator.requires_grad_(False)
        updates += [self.generator.update([self.generator_loss] * micro_batches, together) for _ in range(2)]
        return {"begin": begin, "end": time.monotonic(), "updates": updates}

    def discriminator_loss(self, image, truth):
        return self.work.discriminator_loss(image, self.work.targets_with(truth, peer.FLIP))

    def generator_loss(self):
        return self.work.generator_loss(self.work.latents(), self.work.targets_with(1.0, 0.0))


def main():
    parser = peer.command_line(__doc__, MODES["torch"])
    parser.set_defaults(mode="eager-channels-last-folded")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    dist.init_process_group("gloo")
    training = Training(arguments)
    training.step(1, together=True)  # DDP makes its buckets anew after the first pass
    peer.answer("ready")
    for line in sys.stdin:
        how, micro_batches = line.split()[1:]
        if how == "together":
            dist.barrier()
        cpu = time.process_time()
        times = training.step(int(micro_batches), how == "together")
        print(json.dumps(times | {"cpu_s": time.process_time() - cpu}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
