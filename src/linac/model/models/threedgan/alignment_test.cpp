#include <gtest/gtest.h>

#include "linac/base/base/aligned.h"
#include "linac/model/models/threedgan/networks.h"
#include "linac/model/models/threedgan/threedgan.h"
#include "linac/model/models/torch_threads.h"

namespace linac::models::threedgan {
namespace {

constexpr size_t kLineFloats = kAlignmentBytes / sizeof(float);

// The same numbers at a given distance from a cache line.
class Shifted {
 public:
  Shifted(std::span<const float> values, size_t shift) : buffer_(values.size() + kLineFloats), shift_(shift) {
    for (size_t i = 0; i < values.size(); ++i) buffer_[shift + i] = values[i];
  }
  std::span<const float> view() const { return std::span(buffer_).subspan(shift_, buffer_.size() - kLineFloats); }

 private:
  AlignedFloats buffer_;
  size_t shift_;
};

std::vector<float> uniform(size_t n, uint32_t lane) {
  std::vector<float> values(n);
  fill_uniform({.seed = 3, .lane = lane}, values);
  return values;
}

// Vector kernels of the libraries underneath may take another path for data beside a cache line, and give other bits:
// whose heap a worker has must not matter.
class Alignment : public testing::TestWithParam<int> {};

TEST_P(Alignment, TheGeneratorGivesTheSameBits) {
  use_threads(1);
  const ThreeDGan model(job::ThreeDGanSettings{});
  const auto parameters = model.initial_generator(1);
  const auto latents = uniform(static_cast<size_t>(GetParam()) * 256, 0);
  const auto images = model.sampler().run(parameters, Shifted(latents, 0).view());
  for (const size_t shift : {1, 4, 13})
    EXPECT_EQ(model.sampler().run(parameters, Shifted(latents, shift).view()), images) << shift;
}

TEST_P(Alignment, TheDiscriminatorGivesTheSameBits) {
  use_threads(1);
  const ThreeDGan model(job::ThreeDGanSettings{});
  const auto parameters = model.initial_discriminator(1);
  const auto n = static_cast<size_t>(GetParam());
  const auto images = uniform(n * kCellsX * kCellsY * kCellsZ, 0), numbers = uniform(n, 1);
  const auto step = [&](size_t shift) {
    const Shifted image(images, shift), energy(numbers, shift), angle(numbers, shift), ecal(numbers, shift);
    const Batch batch{image.view(), energy.view(), angle.view(), ecal.view()};
    return model.discriminator_step(parameters, batch, batch.image, Phase::kRealDiscriminator,
                                    {.key = {.seed = 1}, .event_weight = 1.0 / static_cast<double>(n), .flip = 0});
  };
  const Contribution expected = step(0);
  for (const size_t shift : {1, 4, 13}) {
    const Contribution found = step(shift);
    EXPECT_EQ(found.gradient, expected.gradient) << shift;
    EXPECT_EQ(found.losses, expected.losses) << shift;
  }
}

INSTANTIATE_TEST_SUITE_P(Events, Alignment, testing::Values(1, 12));

}  // namespace
}  // namespace linac::models::threedgan
