"""The 3DGAN's training step in PyTorch, measured on request (see peer.py): torch_step.py --batch 16 --mode eager

Images are (batch, channel, x, y, z). Left out as in `linac bench step`: the optimiser's update.
"""

import argparse
import math
import sys

import torch
import torch.nn.functional as F
from torch import nn

import peer
from modes import MODES

POWER = 0.85
EPSILON = 1e-7
EMPTY_IMAGE_ANGLE = 100.0
LOSS_WEIGHTS = {"generation": 3.0, "auxiliary": 0.1, "angle": 25.0, "ecal": 0.1}
CHECK_LIMIT = 1e-3  # max|torch - TensorFlow| / max|TensorFlow|

# number, zero padding, channels in, filters, kernel, batch normalisation
GENERATOR_BLOCKS = [
    (1, 0, 8, 8, (6, 6, 8), True),
    (2, (2, 2, 1), 8, 6, (4, 4, 6), True),
    (3, (2, 2, 1), 6, 6, (4, 4, 6), True),
    (4, (2, 2, 1), 6, 6, (4, 4, 6), True),
    (5, (1, 1, 0), 6, 6, (3, 3, 5), True),
    (6, (1, 1, 0), 6, 6, (3, 3, 3), False),
    (7, 0, 6, 1, (2, 2, 2), False),
]
DISCRIMINATOR_BLOCKS = [
    (1, (2, 2, 2), 1, 16, (5, 6, 6), False),  # "same": one more cell at the end of y and z, see forward
    (2, (0, 0, 1), 16, 8, (5, 6, 6), True),
    (3, (0, 0, 1), 8, 8, (5, 6, 6), True),
    (4, 0, 8, 8, (5, 6, 6), True),
]


class Network(nn.Module):
    """Convolution, activation, normalisation: layers are named as in Keras's model."""

    def __init__(self, blocks):
        super().__init__()
        self.blocks = blocks
        for number, padding, channels, filters, kernel, normalized in blocks:
            self.add_module(f"conv_{number}", nn.Conv3d(channels, filters, kernel, padding=padding))
            if normalized:
                self.add_module(f"bn_{number}", nn.BatchNorm3d(filters, eps=1e-6, momentum=0.01))

    def convolve(self, number, x):
        return getattr(self, f"conv_{number}")(x)

    def run_blocks(self, x, activation, last):
        for number, *_, normalized in self.blocks:
            x = activation(self.convolve(number, x))
            if normalized:
                x = getattr(self, f"bn_{number}")(x)
            x = last(x)
        return x


class Generator(Network):
    """latent (n, 256) -> image (n, 1, 51, 51, 25)."""

    def __init__(self, memory_format, folded, device="cpu"):
        super().__init__(GENERATOR_BLOCKS)
        self.memory_format, self.folded = memory_format, folded
        self.folds = [torch.from_numpy(peer.fold_matrix(taps)).to(device) for taps in GENERATOR_BLOCKS[0][4]]
        self.dense = nn.Linear(peer.LATENT, 9 * 9 * 8 * 8)

    def forward(self, latent):
        x = self.dense(latent).view(-1, 9, 9, 8, 8).permute(0, 4, 1, 2, 3).contiguous(memory_format=self.memory_format)
        return self.run_blocks(x, lambda x: F.relu(x, inplace=True), lambda x: x)

    def convolve(self, number, x):
        if number > 1:
            return super().convolve(number, x)
        return self.folded_upsampling(x) if self.folded else self.conv_1(F.interpolate(x, scale_factor=6))

    def folded_upsampling(self, x):
        """Up-sampling by 6 and conv_1 as one convolution of the small image, whose output channels are the 6x6x6 phases
        of the large one: (n, 8, 9, 9, 8) -> (n, 8, 49, 49, 41)."""
        kernel = torch.einsum("oiklm,psk,qtl,rum->pqroistu", self.conv_1.weight, *self.folds).flatten(0, 3)
        y = F.conv3d(F.pad(x, (0, 1, 0, 1, 0, 1)), kernel, self.conv_1.bias.repeat(6 * 6 * 6))
        y = y.permute(0, 2, 3, 4, 1).reshape(-1, 9, 9, 7, 6, 6, 6, 8).permute(0, 7, 1, 4, 2, 5, 3, 6)
        return y.reshape(-1, 8, 54, 54, 42)[..., :49, :49, :41].contiguous(memory_format=self.memory_format)


class Discriminator(Network):
    """image (n, 1, 51, 51, 25) -> generation, auxiliary (n)."""

    def __init__(self):
        super().__init__(DISCRIMINATOR_BLOCKS)
        self.drop = nn.Dropout(0.2)
        self.generation = nn.Linear(19 * 18 * 7 * 8, 1)
        self.auxiliary = nn.Linear(19 * 18 * 7 * 8, 1)

    def forward(self, image):
        x = F.pad(image, (0, 1, 0, 1, 0, 0))
        x = self.run_blocks(x, lambda x: F.leaky_relu(x, 0.3, inplace=True), self.drop)
        x = F.avg_pool3d(x, 2).permute(0, 2, 3, 4, 1).flatten(1)
        return torch.sigmoid(self.generation(x))[:, 0], self.auxiliary(x)[:, 0]


def divide_where(numerator, denominator, otherwise):
    """numerator / denominator, `otherwise` where the denominator is zero; no NaN reaches the gradient."""
    there = denominator > 0
    return torch.where(there, numerator / torch.where(there, denominator, 1.0), otherwise)


def angle_and_ecal(image):
    """Angle of the shower and sum of its cells, from the image before the power, (n) each."""
    e = image[:, 0] ** (1 / POWER)
    x, y, z = (torch.arange(size, device=image.device) + 0.5 for size in peer.CELLS)
    layer = e.sum((1, 2))
    x_sum, y_sum = (e.sum(2) * x[:, None]).sum(1), (e.sum(1) * y[:, None]).sum(1)
    total = layer.sum(1, keepdim=True)
    x_mean = divide_where(x_sum.sum(1, keepdim=True), total, 1.0)
    y_mean = divide_where(y_sum.sum(1, keepdim=True), total, 1.0)
    z_mean = divide_where((layer * z).sum(1, keepdim=True), total, 1.0)
    x_layer, y_layer = divide_where(x_sum, layer, 0.0), divide_where(y_sum, layer, 0.0)

    projection = ((x_layer - x_mean) ** 2 + (z - z_mean) ** 2).clamp_min(EPSILON).sqrt()
    m = (y_layer - y_mean) / projection
    m = torch.where(z < z_mean, -m, m)
    weight = torch.where(layer > 0, z, 0.0)
    angle = divide_where((weight * (math.pi / 2 - m.atan())).sum(1), weight.sum(1), EMPTY_IMAGE_ANGLE)
    return angle, total[:, 0]


def total_loss(outputs, targets):
    """The weighted sum of the four losses, each a mean over the batch."""
    p, label = outputs["generation"].clamp(EPSILON, 1 - EPSILON), targets["generation"]

    def percentage(name):
        return (100 * (targets[name] - outputs[name]).abs() / targets[name].abs().clamp_min(EPSILON)).mean()

    parts = {
        "generation": -(label * p.log() + (1 - label) * (1 - p).log()).mean(),
        "auxiliary": percentage("auxiliary"),
        "angle": (targets["angle"] - outputs["angle"]).abs().mean(),
        "ecal": percentage("ecal"),
    }
    return sum(weight * parts[name] for name, weight in LOSS_WEIGHTS.items())


class Peer:
    def __init__(self, arguments):
        self.batch = arguments.batch
        self.device, self.autocast = arguments.device, arguments.precision == "bf16"
        last, folded = "channels-last" in arguments.mode, arguments.mode.endswith("folded")
        memory_format = torch.channels_last_3d if last else torch.contiguous_format
        self.generator = Generator(memory_format, folded, self.device).to(self.device, memory_format=memory_format)
        self.discriminator = Discriminator().to(self.device, memory_format=memory_format)
        image, targets = peer.made_up_batch(self.batch)
        self.image = torch.from_numpy(image).to(self.device)[:, None].contiguous(memory_format=memory_format)
        self.targets = {name: torch.from_numpy(value).to(self.device) for name, value in targets.items()}
        made = torch.compile if arguments.mode.startswith("compile") else lambda function: function
        self.image_of, self.outputs = made(self.plain_image_of), made(self.plain_outputs)
        self.discriminator_loss, self.generator_loss = made(self.plain_discriminator_loss), made(self.plain_generator_loss)

    def plain_image_of(self, latent):
        with torch.autocast(self.device, torch.bfloat16, enabled=self.autocast):
            return self.generator(latent).float()

    def plain_outputs(self, image):
        """The discriminator's four, (n) each."""
        with torch.autocast(self.device, torch.bfloat16, enabled=self.autocast):
            generation, auxiliary = self.discriminator(image)
        angle, ecal = angle_and_ecal(image)
        return {"generation": generation.float(), "auxiliary": auxiliary.float(), "angle": angle, "ecal": ecal}

    def plain_discriminator_loss(self, image, targets):
        return total_loss(self.plain_outputs(image), targets)

    def plain_generator_loss(self, latent, targets):
        return total_loss(self.plain_outputs(self.plain_image_of(latent)), targets)

    def latents(self):
        given = torch.stack([self.targets["auxiliary"], self.targets["angle"]], 1)
        return torch.cat([given, torch.randn(self.batch, peer.LATENT - 2, device=self.device)], 1)

    def targets_with(self, truth, flip):
        flipped = torch.rand(self.batch, device=self.device) < flip
        return {**self.targets, "generation": torch.where(flipped, 1.0 - truth, truth)}

    def fakes(self):
        self.generator.eval()
        with torch.inference_mode():
            return self.image_of(self.latents())

    def discriminator_gradients(self, image, truth):
        self.discriminator.train().requires_grad_(True)
        loss = self.discriminator_loss(image, self.targets_with(truth, peer.FLIP))
        return torch.autograd.grad(loss, tuple(self.discriminator.parameters()))

    def generator_gradients(self):
        self.generator.train()
        self.discriminator.train().requires_grad_(False)
        loss = self.generator_loss(self.latents(), self.targets_with(1.0, 0.0))
        return torch.autograd.grad(loss, tuple(self.generator.parameters()))

    def generate(self):
        return self.fakes()

    def step(self):
        fakes = self.fakes().clone()  # what inference mode has made may not be kept for a gradient
        self.discriminator_gradients(self.image, 1.0)
        self.discriminator_gradients(fakes, 0.0)
        self.generator_gradients()
        self.generator_gradients()


def on_gpu(work):
    """Measured until it is computed: a GPU is handed its work, and is waited for."""

    def waited_for():
        work()
        torch.cuda.synchronize()

    return waited_for


def use_precision(precision):
    """Of a GPU's products and convolutions in fp32; PyTorch's own default has TF32 in convolutions alone."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"


def copy_to_keras(network, model):
    """The weights of `network`, moving statistics included, into the Keras model with layers of the same names."""
    for layer in model.layers:
        if not layer.weights:
            continue
        module = getattr(network, layer.name)
        if isinstance(module, nn.BatchNorm3d):
            values = [module.weight, module.bias, module.running_mean, module.running_var]
        else:
            values = [module.weight.movedim((0, 1), (-1, -2)), module.bias]
        layer.set_weights([value.detach().numpy() for value in values])


def randomize_normalisations(network):
    """Away from the initial values, where errors cannot be seen."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm3d):
            for tensor in (module.weight, module.bias, module.running_mean, module.running_var):
                nn.init.uniform_(tensor.detach(), 0.5, 1.5)


def check(work):
    """Prints how far the image and the discriminator's outputs are from TensorFlow's; False if too far."""
    import tensorflow_step

    other = tensorflow_step.Peer(
        tensorflow_step.load_reference(), argparse.Namespace(batch=work.batch, mode="graph-folded")
    )
    for network, model in ((work.generator, other.generator), (work.discriminator, other.discriminator)):
        randomize_normalisations(network)
        copy_to_keras(network, model)
        network.eval()
    with torch.inference_mode():
        latent = work.latents()
        image = work.image_of(latent)[:, 0, ..., None]
        found = {"image": image, "image, TensorFlow folded": image, **work.outputs(work.image)}
    expected = {
        "image": other.generator(latent.numpy(), training=False),
        "image, TensorFlow folded": other.image_of(latent.numpy(), training=False),
        **other.outputs(other.image, training=False),
    }
    close = True
    for name, tensor in expected.items():
        value = torch.from_numpy(tensor.numpy())
        error = float((found[name] - value).abs().max() / value.abs().max())
        close &= error < CHECK_LIMIT
        print(f"{'ok  ' if error < CHECK_LIMIT else 'FAIL'} {name}: {error:.1e} (limit {CHECK_LIMIT:g})")
    return close


def main():
    libraries_rss_mib = peer.rss_mib()
    parser = peer.command_line(__doc__, MODES["torch"])
    parser.add_argument("--check", action="store_true", help="compare the outputs with TensorFlow's instead")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    use_precision(arguments.precision)
    work = Peer(arguments)
    if arguments.check:
        sys.exit(0 if check(work) else 1)
    version = f"PyTorch {torch.__version__}"
    works = {"step": work.step, "generate": work.generate}
    if arguments.device == "cuda":
        works = {name: on_gpu(function) for name, function in works.items()}
    peer.serve(works, arguments.what, version, libraries_rss_mib)


if __name__ == "__main__":
    main()
