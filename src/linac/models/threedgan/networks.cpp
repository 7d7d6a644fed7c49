#include "linac/models/threedgan/networks.h"

#include <fmt/format.h>

#include <array>

#include "linac/base/error.h"

namespace linac::models::threedgan {
namespace {

using nlohmann::json;
using Extent3 = std::array<int64_t, 3>;

json convolution(int64_t filters, const Extent3& kernel, const char* padding = "valid",
                 const char* initializer = "glorot_uniform") {
  return {{"filters", filters}, {"kernel_size", kernel}, {"padding", padding}, {"kernel_initializer", initializer}};
}

json batch_norm() {
  return {{"epsilon", 1e-6}, {"momentum", 0.99}};
}

}  // namespace

graph::Graph generator(int64_t latent) {
  struct Block {
    std::array<int64_t, 3> padding;
    Extent3 kernel;
    bool normalized;
  };
  // Blocks 2 to 6, all of 6 filters.
  const Block blocks[] = {{{2, 2, 1}, {4, 4, 6}, true},
                          {{2, 2, 1}, {4, 4, 6}, true},
                          {{2, 2, 1}, {4, 4, 6}, true},
                          {{1, 1, 0}, {3, 3, 5}, true},
                          {{1, 1, 0}, {3, 3, 3}, false}};
  graph::Builder b("generator");
  int x = b.input("latent", {latent});
  x = b.add("Dense", "dense", {x}, {{"units", 9 * 9 * 8 * 8}, {"kernel_initializer", "glorot_normal"}});
  x = b.add("Reshape", "reshape", {x}, {{"target_shape", {9, 9, 8, 8}}});
  x = b.add("UpSampling3D", "upsample", {x}, {{"size", {6, 6, 6}}});
  x = b.add("Conv3D", "conv_1", {x}, convolution(8, {6, 6, 8}, "valid", "he_uniform"));
  x = b.add("Activation", "relu_1", {x}, {{"activation", "relu"}});
  x = b.add("BatchNormalization", "bn_1", {x}, batch_norm());
  int number = 2;
  for (const Block& block : blocks) {
    const auto name = [&](const char* stem) { return fmt::format("{}_{}", stem, number); };
    x = b.add("ZeroPadding3D", name("pad"), {x}, {{"padding", block.padding}});
    x = b.add("Conv3D", name("conv"), {x}, convolution(6, block.kernel, "valid", "he_uniform"));
    x = b.add("Activation", name("relu"), {x}, {{"activation", "relu"}});
    if (block.normalized) x = b.add("BatchNormalization", name("bn"), {x}, batch_norm());
    ++number;
  }
  x = b.add("Conv3D", "conv_7", {x}, convolution(1, {2, 2, 2}, "valid", "glorot_normal"));
  x = b.add("Activation", "relu_7", {x}, {{"activation", "relu"}});
  graph::Graph graph = b.finish({x});
  LINAC_CHECK((graph.nodes.back().output == graph::Shape{kCellsX, kCellsY, kCellsZ, 1}));
  return graph;
}

graph::Graph discriminator(double power) {
  const json leaky{{"negative_slope", 0.3}}, dropout{{"rate", 0.2}};
  graph::Builder b("discriminator");
  const int image = b.input("image", {kCellsX, kCellsY, kCellsZ, 1});
  int x = b.add("Conv3D", "conv_1", {image}, convolution(16, {5, 6, 6}, "same"));
  x = b.add("LeakyReLU", "leaky_1", {x}, leaky);
  x = b.add("Dropout", "drop_1", {x}, dropout);
  for (int number = 2; number <= 4; ++number) {
    const auto name = [&](const char* stem) { return fmt::format("{}_{}", stem, number); };
    if (number < 4) x = b.add("ZeroPadding3D", name("pad"), {x}, {{"padding", {0, 0, 1}}});
    x = b.add("Conv3D", name("conv"), {x}, convolution(8, {5, 6, 6}));
    x = b.add("LeakyReLU", name("leaky"), {x}, leaky);
    x = b.add("BatchNormalization", name("bn"), {x}, batch_norm());
    x = b.add("Dropout", name("drop"), {x}, dropout);
  }
  x = b.add("AveragePooling3D", "pool", {x}, {{"pool_size", {2, 2, 2}}});
  x = b.add("Flatten", "flatten", {x});
  const int generation = b.add("Dense", "generation", {x}, {{"units", 1}, {"activation", "sigmoid"}});
  const int auxiliary = b.add("Dense", "auxiliary", {x}, {{"units", 1}, {"activation", "linear"}});
  const int angle = b.add("ShowerAngle", "angle", {image}, {{"power", power}});
  const int ecal = b.add("ShowerSum", "ecal", {image}, {{"power", power}});
  return b.finish({generation, auxiliary, angle, ecal});
}

}  // namespace linac::models::threedgan
