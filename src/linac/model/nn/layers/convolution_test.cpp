#include <gtest/gtest.h>

#include "linac/model/nn/test_network_run.h"

namespace linac::nn {
namespace {

/// The activation is the convolution's, or a layer behind it.
graph::Graph network(const std::string& op, size_t axes, const std::string& activation, bool own, bool upsampled) {
  graph::Builder b("one");
  graph::Shape shape{5, 4, 3};
  shape.resize(axes);
  shape.push_back(2);
  int x = b.input("x", shape);
  if (upsampled) x = b.add("UpSampling3D", "up", {x}, {{"size", {2, 2, 1}}});
  nlohmann::json attributes{{"kernel_size", std::vector<int64_t>(axes, 2)}, {"padding", "same"}};
  if (!op.starts_with("Depthwise")) attributes["filters"] = 4;
  if (own) attributes["activation"] = activation;
  x = b.add(op, "conv", {x}, attributes);
  return b.finish({own ? x : b.add("Activation", "activation", {x}, {{"activation", activation}})});
}

TEST(Convolution, SoftmaxIsOverTheChannels) {
  const std::vector<std::pair<std::string, size_t>> ops{
      {"Conv1D", 1},          {"Conv2D", 2},          {"Conv3D", 3},          {"Conv1DTranspose", 1},
      {"Conv2DTranspose", 2}, {"Conv3DTranspose", 3}, {"DepthwiseConv1D", 1}, {"DepthwiseConv2D", 2},
      {"SeparableConv1D", 1}, {"SeparableConv2D", 2}};
  for (const auto& [op, axes] : ops)
    for (const char* activation : {"softmax", "log_softmax", "tanh", "relu"})
      for (const Kernels kernels : {Kernels::kLinac, Kernels::kAten})
        for (const bool upsampled : {false, true}) {
          if (upsampled && op != "Conv3D") continue;
          SCOPED_TRACE(op + " " + activation + (upsampled ? " upsampled" : ""));
          const Outcome own = run_network(network(op, axes, activation, true, upsampled), kernels, 3),
                        behind = run_network(network(op, axes, activation, false, upsampled), kernels, 3);
          expect_near(own.output, behind.output, "output");
          expect_near(own.inference, behind.inference, "inference");
          expect_near(own.input_gradient, behind.input_gradient, "gradient of the input");
          expect_near(own.gradient, behind.gradient, "gradient of the weights");
        }
}

}  // namespace
}  // namespace linac::nn
