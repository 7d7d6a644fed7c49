#include "linac/model/models/threedgan/networks.h"

#include <fmt/format.h>

#include <array>

#include "linac/base/base/error.h"

namespace linac::models::threedgan {
namespace {

using nlohmann::json;
using Extent3 = std::array<int64_t, 3>;

json convolution(int64_t filters, const Extent3& kernel, const char* padding = "valid",
                 const char* initializer = "glorot_uniform") {
  return {{"filters", filters}, {"kernel_size", kernel}, {"padding", padding}, {"kernel_initializer", initializer}};
}

json batch_norm(bool frozen = false) {
  json attributes{{"epsilon", 1e-6}, {"momentum", 0.99}};
  if (frozen) attributes["trainable"] = false;
  return attributes;
}

constexpr size_t kNodesMax = 256;  // each has random numbers of its own in each phase of a step

}  // namespace

graph::Graph generator(const job::ThreeDGanSettings& settings) {
  struct Block {
    std::array<int64_t, 3> padding;
    Extent3 kernel;
    bool normalized;
  };
  // Blocks 2 to 6.
  const Block blocks[] = {{{2, 2, 1}, {4, 4, 6}, true},
                          {{2, 2, 1}, {4, 4, 6}, true},
                          {{2, 2, 1}, {4, 4, 6}, true},
                          {{1, 1, 0}, {3, 3, 5}, true},
                          {{1, 1, 0}, {3, 3, 3}, false}};
  graph::Builder b("generator");
  const std::vector<int64_t>& filters = settings.generator_filters;
  const int64_t channels = settings.generator_channels;
  int x = b.input("latent", {settings.latent});
  x = b.add("Dense", "dense", {x}, {{"units", 9 * 9 * 8 * channels}, {"kernel_initializer", "glorot_normal"}});
  x = b.add("Reshape", "reshape", {x}, {{"target_shape", {int64_t{9}, int64_t{9}, int64_t{8}, channels}}});
  x = b.add("UpSampling3D", "upsample", {x}, {{"size", {6, 6, 6}}});
  x = b.add("Conv3D", "conv_1", {x}, convolution(filters.at(0), {6, 6, 8}, "valid", "he_uniform"));
  x = b.add("Activation", "relu_1", {x}, {{"activation", "relu"}});
  x = b.add("BatchNormalization", "bn_1", {x}, batch_norm(settings.freeze_norms));
  size_t number = 2;
  for (const Block& block : blocks) {
    const auto name = [&](const char* stem) { return fmt::format("{}_{}", stem, number); };
    x = b.add("ZeroPadding3D", name("pad"), {x}, {{"padding", block.padding}});
    x = b.add("Conv3D", name("conv"), {x}, convolution(filters.at(number - 1), block.kernel, "valid", "he_uniform"));
    x = b.add("Activation", name("relu"), {x}, {{"activation", "relu"}});
    if (block.normalized) x = b.add("BatchNormalization", name("bn"), {x}, batch_norm(settings.freeze_norms));
    ++number;
  }
  x = b.add("Conv3D", "conv_7", {x}, convolution(1, {2, 2, 2}, "valid", "glorot_normal"));
  x = b.add("Activation", "relu_7", {x}, {{"activation", "relu"}});
  graph::Graph graph = b.finish({x});
  LINAC_CHECK((graph.nodes.back().output == graph::Shape{kCellsX, kCellsY, kCellsZ, 1}));
  return graph;
}

graph::Graph discriminator(const job::ThreeDGanSettings& settings) {
  const json leaky{{"negative_slope", settings.leaky_slope}}, dropout{{"rate", settings.dropout}};
  const std::vector<int64_t>& filters = settings.discriminator_filters;
  graph::Builder b("discriminator");
  const int image = b.input("image", {kCellsX, kCellsY, kCellsZ, 1});
  int x = b.add("Conv3D", "conv_1", {image}, convolution(filters.at(0), {5, 6, 6}, "same"));
  x = b.add("LeakyReLU", "leaky_1", {x}, leaky);
  x = b.add("Dropout", "drop_1", {x}, dropout);
  for (size_t number = 2; number <= filters.size(); ++number) {
    const auto name = [&](const char* stem) { return fmt::format("{}_{}", stem, number); };
    if (number < filters.size()) x = b.add("ZeroPadding3D", name("pad"), {x}, {{"padding", {0, 0, 1}}});
    x = b.add("Conv3D", name("conv"), {x}, convolution(filters[number - 1], {5, 6, 6}));
    x = b.add("LeakyReLU", name("leaky"), {x}, leaky);
    x = b.add("BatchNormalization", name("bn"), {x}, batch_norm());
    x = b.add("Dropout", name("drop"), {x}, dropout);
  }
  x = b.add("AveragePooling3D", "pool", {x}, {{"pool_size", {2, 2, 2}}});
  x = b.add("Flatten", "flatten", {x});
  const int generation = b.add("Dense", "generation", {x}, {{"units", 1}, {"activation", "sigmoid"}});
  const int auxiliary = b.add("Dense", "auxiliary", {x}, {{"units", 1}, {"activation", "linear"}});
  return with_analytic_heads(b.finish({generation, auxiliary}), settings.power);
}

graph::Graph with_analytic_heads(graph::Graph discriminator, double power) {
  const int image = discriminator.inputs.at(0);
  for (const auto& [op, name] : {std::pair("ShowerAngle", "angle"), std::pair("ShowerSum", "ecal")}) {
    discriminator.outputs.push_back(static_cast<int>(discriminator.nodes.size()));
    discriminator.nodes.push_back(
        {.name = name, .op = op, .attributes = {{"power", power}}, .inputs = {image}, .output = {}, .weights = {}});
  }
  graph::infer_shapes(discriminator);
  return discriminator;
}

Architecture own_architecture(const job::ThreeDGanSettings& settings) {
  Architecture own;
  own.generator = generator(settings);
  own.discriminator = discriminator(settings);
  own.power = settings.power;
  own.loss_weights = settings.loss_weights;
  return own;
}

void need_architecture(const Architecture& architecture) {
  const graph::Graph &g = architecture.generator, &d = architecture.discriminator;
  const auto shape = [](const graph::Graph& graph, int node) { return graph.nodes[static_cast<size_t>(node)].output; };
  const auto refuse = [](const graph::Graph& graph, const std::string& wanted) {
    throw user_error(fmt::format("[3dgan] the network '{}' does not fit: {}", graph.name, wanted));
  };
  if (g.inputs.size() != 1 || shape(g, g.inputs[0]).size() != 1 || shape(g, g.inputs[0])[0] < 3)
    refuse(g, "a generator takes one vector: energy / 100 GeV, angle, and at least one random number");
  const graph::Shape image = g.outputs.size() == 1 ? shape(g, g.outputs[0]) : graph::Shape{};
  if (image.size() != 4 || image[3] != 1) refuse(g, "a generator makes one image (x, y, z, 1)");
  if (d.inputs.size() != 1 || shape(d, d.inputs[0]) != image)
    refuse(d, fmt::format("a discriminator takes the generator's image {}", graph::to_string(image)));
  const auto op = [&](size_t output) { return d.nodes[static_cast<size_t>(d.outputs[output])].op; };
  const bool has_analytic_heads = d.outputs.size() == 4 && op(2) == "ShowerAngle" && op(3) == "ShowerSum";
  const bool says_two = (d.outputs.size() == 2 || has_analytic_heads) && shape(d, d.outputs[0]) == graph::Shape{1} &&
                        shape(d, d.outputs[1]) == graph::Shape{1};
  if (!says_two)
    refuse(d, "a discriminator says two numbers: the probability that the image is real, and the energy / 100 GeV");
  for (const graph::Graph* graph : {&g, &d})
    if (graph->nodes.size() > kNodesMax) refuse(*graph, fmt::format("more than {} layers", kNodesMax));
}

}  // namespace linac::models::threedgan
