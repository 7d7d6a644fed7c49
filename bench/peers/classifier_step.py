"""The Inclusive Classifier's training step in PyTorch, measured on request (see peer.py): classifier_step.py --batch 64 --mode eager

The layers of `model: {kind: inclusive_classifier, variant: gru}`, made-up events as `linac bench models` makes them up, the loss, its gradients
and Adam's update. All of a list's steps are computed, the state is taken at the event's end.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import peer
from model_step import event_lengths
from torch_step import on_gpu, use_precision

PARTICLES, FEATURES, UNITS, EVENT, DENSE, CLASSES = 801, 19, 50, 14, 25, 3
DROPPED = 0.2


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.drop = nn.GRU(FEATURES, UNITS, batch_first=True), nn.Dropout(DROPPED)
        self.dense, self.label = nn.Linear(UNITS + EVENT, DENSE), nn.Linear(DENSE, CLASSES)

    def forward(self, particles, event, last):
        """(n, particles, features), (n, quantities) and where each list ends (n) -> logits (n, classes)."""
        state = self.gru(particles)[0][torch.arange(len(particles), device=particles.device), last]
        return self.label(F.relu(self.dense(torch.cat([self.drop(state), event], 1))))


class Peer:
    def __init__(self, arguments):
        rng = np.random.default_rng(1)
        particles = rng.normal(0, 1, (arguments.batch, PARTICLES, FEATURES)).astype("float32")
        lengths = event_lengths(arguments.batch, PARTICLES)
        for event, length in enumerate(lengths):
            particles[event, length:] = 0
        event, labels = rng.normal(0, 1, (arguments.batch, EVENT)).astype("float32"), rng.integers(0, CLASSES, arguments.batch)
        self.device, self.autocast = arguments.device, arguments.precision == "bf16"
        *self.inputs, self.labels = (torch.from_numpy(array).to(self.device) for array in (particles, event, lengths - 1, labels))
        self.model = Classifier().to(self.device).train()
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-4, fused=True)
        self.loss = torch.compile(self.plain_loss) if arguments.mode == "compile" else self.plain_loss

    def plain_loss(self, *inputs):
        with torch.autocast(self.device, torch.bfloat16, enabled=self.autocast):
            logits = self.model(*inputs)
        return F.cross_entropy(logits.float(), self.labels)

    def step(self):
        self.optimizer.zero_grad()
        self.loss(*self.inputs).backward()
        self.optimizer.step()


def main():
    libraries_rss_mib = peer.rss_mib()
    arguments = peer.command_line(__doc__, ("eager", "compile")).parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    use_precision(arguments.precision)
    work = Peer(arguments)
    step = on_gpu(work.step) if arguments.device == "cuda" else work.step
    peer.serve({"step": step}, ["step"], f"PyTorch {torch.__version__}", libraries_rss_mib)


if __name__ == "__main__":
    main()
