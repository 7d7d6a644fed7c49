"""The 3DGAN's training step in TensorFlow, measured on request (see peer.py): tensorflow_step.py --batch 16 --mode graph

The networks and losses are those of tests/lib/threedgan_reference.py. Left out as in `linac bench step`: the
optimiser's update.
"""

import os

import peer
from modes import MODES


def load_reference():
    """The module with the networks, with TensorFlow's oneDNN kernels: without them a step takes several times as long."""
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
    from lib import threedgan_reference

    return threedgan_reference


class Peer:
    def __init__(self, reference, arguments):
        self.reference, self.tf = reference, reference.tf
        self.batch, self.folded = arguments.batch, arguments.mode.endswith("folded")
        self.generator, self.discriminator = reference.build_generator(), reference.build_discriminator()
        image, targets = peer.made_up_batch(self.batch)
        self.image = self.tf.constant(image[..., None])
        self.targets = {name: self.tf.constant(value) for name, value in targets.items()}
        as_graph = self.tf.function(jit_compile=arguments.mode.startswith("xla"))
        self.fakes = as_graph(self.fakes)
        self.discriminator_gradients = as_graph(self.discriminator_gradients)
        self.generator_gradients = as_graph(self.generator_gradients)

    def image_of(self, latents, training):
        if not self.folded:
            return self.generator(latents, training=training)
        x = latents
        for layer in self.generator.layers[1:]:
            if layer.name == "conv_1":
                x = self.folded_upsampling(x, layer)
            elif layer.name != "upsample":
                x = layer(x, training=training) if layer.name.startswith("bn_") else layer(x)
        return x

    def folded_upsampling(self, x, convolution):
        """Up-sampling by 6 and conv_1 as one convolution of the small image, whose output channels are the 6x6x6 phases
        of the large one: (n, 9, 9, 8, 8) -> (n, 49, 49, 41, 8)."""
        tf = self.tf
        folds = [peer.fold_matrix(taps) for taps in convolution.kernel_size]
        kernel = tf.einsum("klmio,psk,qtl,rum->stuipqro", convolution.kernel.value, *folds)
        kernel = tf.cast(tf.reshape(kernel, (2, 2, 3, 8, 6 * 6 * 6 * 8)), x.dtype)
        y = tf.nn.conv3d(tf.pad(x, [[0, 0], [0, 1], [0, 1], [0, 1], [0, 0]]), kernel, [1] * 5, "VALID")
        y = tf.transpose(tf.reshape(y, (-1, 9, 9, 7, 6, 6, 6, 8)), (0, 1, 4, 2, 5, 3, 6, 7))
        y = tf.reshape(y, (-1, 54, 54, 42, 8))[:, :49, :49, :41]
        return y + tf.cast(convolution.bias.value, x.dtype)

    def latents(self):
        given = self.tf.stack([self.targets["auxiliary"], self.targets["angle"]], axis=1)
        return self.tf.concat([given, self.tf.random.normal((self.batch, peer.LATENT - 2))], axis=1)

    def labels(self, truth):
        flipped = self.tf.random.uniform((self.batch,)) < peer.FLIP
        return self.tf.where(flipped, 1.0 - truth, truth)

    def outputs(self, image, training):
        """The discriminator's four, (n) each."""
        generation, auxiliary = self.discriminator(image, training=training)
        image = self.tf.cast(image, "float32")
        return {
            "generation": self.tf.cast(generation[:, 0], "float32"),
            "auxiliary": self.tf.cast(auxiliary[:, 0], "float32"),
            "angle": self.reference.angle(image),
            "ecal": self.reference.ecal(image),
        }

    def gradients(self, updated, image_of, label):
        """Of the trainable weights of `updated` alone: the graph drops what only other gradients need."""
        weights = [variable.value for variable in updated.trainable_variables]
        with self.tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(weights)
            parts = self.reference.losses(self.outputs(image_of(), training=True), {**self.targets, "generation": label})
        return parts["total"], tape.gradient(parts["total"], weights)

    def fakes(self):
        return self.tf.cast(self.image_of(self.latents(), training=False), "float32")

    def discriminator_gradients(self, image, truth):
        return self.gradients(self.discriminator, lambda: image, self.labels(truth))

    def generator_gradients(self):
        return self.gradients(
            self.generator, lambda: self.image_of(self.latents(), training=True), self.tf.ones(self.batch)
        )

    def generate(self):
        return self.fakes().numpy()

    def step(self):
        fakes = self.fakes()
        losses = [
            self.discriminator_gradients(self.image, self.tf.constant(1.0))[0],
            self.discriminator_gradients(fakes, self.tf.constant(0.0))[0],
            self.generator_gradients()[0],
            self.generator_gradients()[0],
        ]
        return [float(loss) for loss in losses]


def main():
    arguments = peer.command_line(__doc__, MODES["tensorflow"]).parse_args()
    reference = load_reference()
    libraries_rss_mib = peer.rss_mib()
    reference.use_threads(arguments.threads)
    if arguments.precision == "bf16":
        reference.keras.config.set_dtype_policy("mixed_bfloat16")
    work = Peer(reference, arguments)
    version = f"TensorFlow {reference.tf.__version__}"
    peer.serve({"step": work.step, "generate": work.generate}, arguments.what, version, libraries_rss_mib)


if __name__ == "__main__":
    main()
