#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>

#include "linac/model/nn/executable.h"
#include "linac/model/nn/image_sampling.h"

namespace linac::nn {
namespace {

constexpr RngKey kKey{.seed = 3, .stream = Stream::kDropout, .epoch = 1, .step = 2, .replica = 1};

at::Tensor images(int64_t events, int64_t rows, int64_t columns) {
  return (at::arange(events * rows * columns * 2, at::kFloat) * 0.7).sin().view({events, rows, columns, 2});
}

at::Tensor run(const std::string& op, const nlohmann::json& attributes, const at::Tensor& x,
               Mode mode = Mode::kTraining, const RngKey& key = kKey) {
  graph::Builder b("one");
  const int input = b.input("x", {x.sizes().begin() + 1, x.sizes().end()});
  const Executable network(b.finish({b.add(op, "layer", {input}, attributes)}));
  return network.run(make_weights(network.graph(), graph::Parameters::of(network.graph()), Gradients::kNone), {x},
                     {.mode = mode, .dropout_key = key})[0];
}

const std::vector<std::pair<std::string, nlohmann::json>>& varying() {
  static const std::vector<std::pair<std::string, nlohmann::json>> all{
      {"RandomFlip", nlohmann::json::object()},
      {"RandomTranslation", {{"height_factor", 0.4}, {"width_factor", 0.4}}},
      {"RandomRotation", {{"factor", 0.4}}},
      {"RandomZoom", {{"height_factor", 0.4}}},
      {"RandomContrast", {{"factor", 0.4}, {"value_range", {-1, 1}}}},
      {"RandomBrightness", {{"factor", 0.4}, {"value_range", {-1, 1}}}}};
  return all;
}

TEST(VaryingImages, FollowsFromTheKeyAndTheEventsPlace) {
  const at::Tensor x = images(9, 5, 4);
  for (const auto& [op, attributes] : varying()) {
    const at::Tensor y = run(op, attributes, x);
    EXPECT_FALSE(at::equal(y, x)) << op;
    EXPECT_TRUE(at::equal(y, run(op, attributes, x))) << op;
    EXPECT_TRUE(at::equal(y.narrow(0, 0, 4), run(op, attributes, x.narrow(0, 0, 4)))) << op;
    RngKey other = kKey;
    other.replica = 2;
    EXPECT_FALSE(at::equal(y, run(op, attributes, x, Mode::kTraining, other))) << op;
  }
}

TEST(VaryingImages, DoesNothingInInference) {
  const at::Tensor x = images(3, 5, 4);
  for (const auto& [op, attributes] : varying())
    EXPECT_TRUE(at::equal(run(op, attributes, x, Mode::kInference), x)) << op;
}

TEST(VaryingImages, AQuarterOfATurnMovesRowsToColumns) {
  const at::Tensor x = images(2, 5, 5);
  const at::Tensor y = run("RandomRotation", {{"factor", {0.25, 0.25}}}, x);
  EXPECT_LT(at::abs(y - at::rot90(x, 1, {1, 2})).max().item<double>(), 1e-5);
}

TEST(VaryingImages, OfOneCellOrNoEvent) {
  for (const auto& [op, attributes] : varying()) {
    for (const char* fill : {"reflect", "wrap", "constant", "nearest"}) {
      nlohmann::json filled = attributes;
      if (op == "RandomTranslation" || op == "RandomRotation" || op == "RandomZoom") filled["fill_mode"] = fill;
      EXPECT_TRUE(at::isfinite(run(op, filled, images(3, 1, 1))).all().item<bool>()) << op << ' ' << fill;
      EXPECT_EQ(run(op, filled, images(0, 4, 3)).numel(), 0) << op << ' ' << fill;
    }
  }
}

// What is linear in x has the gradient of its transpose: <y, A x> = <A^T y, x>, where nothing comes from outside.
TEST(SampledImages, HaveTheGradientOfTheirSampling) {
  const std::vector<AffineMap> maps{{.a = 0.8F, .b = 0.3F, .c = -1.2F, .d = -0.4F, .e = 1.3F, .f = 2.1F}, {.c = 40.5F}};
  for (const Beyond beyond : {Beyond::kReflect, Beyond::kWrap, Beyond::kConstant, Beyond::kEdge}) {
    for (const Interpolation interpolation : {Interpolation::kNearest, Interpolation::kBilinear}) {
      const at::Tensor x = images(2, 6, 5).set_requires_grad(true), y = images(2, 6, 5).cos();
      const at::Tensor image = sample_images(x, maps, {beyond, interpolation, 0});
      const at::Tensor gradient = torch::autograd::grad({(image * y).sum()}, {x})[0];
      EXPECT_NEAR((gradient * x).sum().item<double>(), (image * y).sum().item<double>(), 1e-4);
    }
  }
}

// A NaN beside the cells that are read stays there.
TEST(SampledImages, TakeTheConstantFromOutsideAlone) {
  at::Tensor x = images(1, 3, 3);
  x[0][0][0] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<AffineMap> away{{.c = 100}};
  const at::Tensor y = sample_images(x, away, {Beyond::kConstant, Interpolation::kBilinear, 0.25});
  EXPECT_TRUE(at::equal(y, at::full_like(y, 0.25)));
}

}  // namespace
}  // namespace linac::nn
