// Networks on a GPU against the same on the processor. Where no GPU can be used the tests say so and are skipped.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "linac/base/base/error.h"
#include "linac/model/graph/passes/fold_upsample.h"
#include "linac/model/graph/passes/fuse_activations.h"
#include "linac/model/graph/place.h"
#include "linac/model/kernels/cuda/device.h"
#include "linac/model/nn/executable.h"
#include "linac/model/nn/gradient.h"

namespace linac::nn {
namespace {

using nlohmann::json;

std::string why_no_cuda;

// Before any test: LibTorch must not be used before its CUDA half is loaded.
class LoadCuda : public testing::Environment {
 public:
  void SetUp() override {
    try {
      need_cuda(0);
    } catch (const Error& error) {
      why_no_cuda = error.what();
    }
  }
};

[[maybe_unused]] const testing::Environment* const load_cuda = testing::AddGlobalTestEnvironment(new LoadCuda);

json conv(int64_t filters, std::array<int64_t, 3> kernel, const char* padding = "valid") {
  return {{"filters", filters}, {"kernel_size", kernel}, {"padding", padding}};
}

/// Folded and plain convolutions, one of them of too many channels for linac's kernels, and every layer whose
/// computation on a GPU is not LibTorch's alone.
graph::Graph network() {
  graph::Builder b("network");
  int x = b.input("image", {3, 2, 3, 4});
  x = b.add("UpSampling3D", "upsample", {x}, {{"size", {3, 4, 2}}});
  x = b.add("Conv3D", "conv_1", {x}, conv(4, {3, 3, 3}));
  x = b.add("Activation", "relu_1", {x}, {{"activation", "relu"}});
  x = b.add("BatchNormalization", "bn_1", {x}, {{"epsilon", 1e-3}});
  x = b.add("Conv3D", "conv_2", {x}, conv(6, {3, 2, 3}, "same"));
  x = b.add("LeakyReLU", "leaky_2", {x}, {{"negative_slope", 0.3}});
  x = b.add("Dropout", "drop_2", {x}, {{"rate", 0.2}});
  x = b.add("ZeroPadding3D", "pad_3", {x}, {{"padding", {0, 1, 1}}});
  x = b.add("Conv3D", "conv_3", {x},
            {{"filters", 5}, {"kernel_size", {2, 2, 2}}, {"use_bias", false}, {"activation", "relu"}});
  x = b.add("BatchNormalization", "bn_3", {x}, {{"epsilon", 1e-3}, {"scale", false}});
  x = b.add("Conv3D", "conv_4", {x}, conv(40, {1, 1, 2}));
  x = b.add("AveragePooling3D", "pool", {x}, {{"pool_size", {2, 2, 1}}});
  x = b.add("Flatten", "flatten", {x});
  return b.finish({b.add("Dense", "dense", {x}, {{"units", 2}})});
}

struct Outcome {
  at::Tensor output, inferred, input_gradient;
  std::vector<at::Tensor> masks;
  std::vector<float> statistics;
  AlignedFloats gradient;
};

enum class Fusing { kNo, kYes };

graph::Parameters initial_parameters() {
  const graph::Graph graph = network();
  graph::Parameters parameters = graph::Parameters::of(graph);
  graph::initialize(graph, 7, 0, parameters);
  return parameters;
}

Outcome run(Device device, Kernels kernels, Fusing fusing = Fusing::kNo,
            const graph::Parameters& parameters = initial_parameters(), const graph::GradientReady& ready = {},
            bool* finite = nullptr) {
  const graph::Graph graph = network(), folded = graph::fold_upsample(graph);
  const Executable executable(fusing == Fusing::kYes ? graph::fuse_activations(folded) : folded, kernels,
                              Precision::kFloat, device);
  const Weights weights = make_weights(executable.graph(), parameters, Gradients::kWanted, device);
  std::vector<float> values(static_cast<size_t>(5 * graph::elements(graph.nodes[0].output)));
  fill_normal({.seed = 3}, values);
  at::Tensor input = at::from_blob(values.data(), {5, 3, 2, 3, 4}).clone().set_requires_grad(true);

  Outcome outcome;
  outcome.inferred = executable.run(weights, {input}, {})[0].detach().cpu();
  const at::Tensor output = executable.run(weights, {input},
                                           {.mode = Mode::kTraining,
                                            .dropout_key = {.seed = 5, .stream = Stream::kDropout},
                                            .batch_statistics = &outcome.statistics,
                                            .dropout_masks = &outcome.masks})[0];
  const at::Tensor factor = at::arange(output.numel(), at::kFloat).reshape(output.sizes()).cos().to(output.device());
  const at::Tensor loss = (output * factor).sum();
  outcome.output = output.detach().cpu();
  outcome.input_gradient = torch::autograd::grad({loss}, {input}, {}, true)[0].cpu();
  outcome.gradient = flat_gradient(loss, weights, parameters.trainable_layout, ready, finite);
  return outcome;
}

void expect_near(const at::Tensor& value, const at::Tensor& wanted, const char* what) {
  ASSERT_EQ(value.sizes(), wanted.sizes()) << what;
  EXPECT_LT(((value - wanted).abs().max() / wanted.abs().max()).item<double>(), 1e-4) << what;
}

template <class Floats>
at::Tensor as_tensor(const Floats& values) {
  return at::from_blob(const_cast<float*>(values.data()), {static_cast<int64_t>(values.size())}, at::kFloat);
}

void expect_near(const Outcome& value, const Outcome& wanted) {
  expect_near(value.inferred, wanted.inferred, "inference");
  expect_near(value.output, wanted.output, "output");
  expect_near(value.input_gradient, wanted.input_gradient, "gradient of the input");
  expect_near(as_tensor(value.gradient), as_tensor(wanted.gradient), "gradient of the weights");
  expect_near(as_tensor(value.statistics), as_tensor(wanted.statistics), "batch statistics");
  ASSERT_EQ(value.masks.size(), wanted.masks.size());
  for (size_t i = 0; i < value.masks.size(); ++i) EXPECT_TRUE(at::equal(value.masks[i], wanted.masks[i])) << i;
}

TEST(Cuda, ANetworkGivesTheProcessorsValuesGradientsAndStatistics) {
  if (!why_no_cuda.empty()) GTEST_SKIP() << why_no_cuda;
  expect_near(run(Device::kCuda, Kernels::kLinac), run(Device::kCpu, Kernels::kLinac));
}

class OnGpu {
 public:
  explicit OnGpu(const AlignedFloats& values) : memory_(kernels::cuda::allocate(size(values)), kernels::cuda::release) {
    kernels::cuda::copy_to_device(memory_.get(), values.data(), size(values));
  }
  const float* data() const { return memory_.get(); }

 private:
  static int64_t size(const AlignedFloats& values) { return static_cast<int64_t>(values.size()); }
  std::unique_ptr<float, void (*)(float*)> memory_;
};

TEST(Cuda, WeightsAndGradientsStayWhereThePlaceSaysSo) {
  if (!why_no_cuda.empty()) GTEST_SKIP() << why_no_cuda;
  const graph::Parameters parameters = initial_parameters();
  graph::Parameters elsewhere = parameters;  // the host's are not read
  std::fill(elsewhere.trainable.begin(), elsewhere.trainable.end(), 0.0F);
  const OnGpu trainable(parameters.trainable), statistics(parameters.statistics);
  const std::vector<graph::WeightCopy> copies{{elsewhere.trainable.data(), trainable.data()},
                                              {elsewhere.statistics.data(), statistics.data()}};
  const graph::AtPlace there({.gpu = 0, .copies = copies, .gradients_stay = true});
  AlignedFloats told(parameters.trainable.size(), 0.0F);
  const auto ready = [&](int64_t offset, std::span<const float> values) {
    kernels::cuda::copy_to_host(told.data() + offset, values.data(), static_cast<int64_t>(values.size()));
  };
  bool finite = false;
  Outcome outcome = run(Device::kCuda, Kernels::kLinac, Fusing::kNo, elsewhere, ready, &finite);
  EXPECT_TRUE(outcome.gradient.empty());
  EXPECT_TRUE(finite);
  outcome.gradient = told;
  expect_near(outcome, run(Device::kCpu, Kernels::kLinac));
  graph::Parameters broken = parameters;
  broken.trainable[0] = std::numeric_limits<float>::quiet_NaN();
  run(Device::kCuda, Kernels::kLinac, Fusing::kNo, broken, ready, &finite);
  EXPECT_FALSE(finite);
}

TEST(FuseActivations, ChangesNoResult) {
  const graph::Graph fused = graph::fuse_activations(graph::fold_upsample(network()));
  EXPECT_EQ(fused.nodes[1].attributes.at("fused_negative_slope"), 0);    // conv_1, folded
  EXPECT_EQ(fused.nodes[4].attributes.at("fused_negative_slope"), 0.3);  // conv_2
  EXPECT_FALSE(fused.nodes[8].attributes.contains("fused_negative_slope")) << "conv_3 has an activation of its own";
  expect_near(run(Device::kCpu, Kernels::kAten, Fusing::kYes), run(Device::kCpu, Kernels::kAten));
}

TEST(Cuda, ItsAbsenceIsAnEnvironmentErrorThatSaysWhatToDo) {
  if (why_no_cuda.empty()) GTEST_SKIP() << "a GPU is there";
  EXPECT_EQ(why_no_cuda.find("[cuda] "), 0U) << why_no_cuda;
  try {
    need_cuda(0);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kEnvironment);
  }
}

}  // namespace
}  // namespace linac::nn
