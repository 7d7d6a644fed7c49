#include "linac/train/trained/shower_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/io/data/showers.h"
#include "linac/model/chain/chain_file.h"
#include "linac/model/models/threedgan/generator.h"
#include "linac/train/trained/chain_run.h"
#include "linac/train/trained/chosen_model.h"
#include "linac/train/trained/model_file.h"

namespace linac::trained {

std::vector<float> to_gev(const job::Job& job, std::span<const float> images) {
  std::vector<float> gev(images.size());
  const auto inverse_power = static_cast<float>(1 / job.model.as<job::ThreeDGanSettings>().power),
             inverse_scale = static_cast<float>(1 / job.data.scale);
  std::transform(images.begin(), images.end(), gev.begin(),
                 [&](float cell) { return cell > 0 ? std::pow(cell, inverse_power) * inverse_scale : 0.0F; });
  return gev;
}

class ShowerGenerator::Kind {
 public:
  Kind(std::string source, std::optional<primaries::TrainedRange> range) : source_(std::move(source)), range_(range) {}
  virtual ~Kind() = default;
  const std::string& source() const { return source_; }
  const std::optional<primaries::TrainedRange>& range() const { return range_; }
  virtual EventShape shape() const = 0;
  virtual std::vector<float> make(std::span<const float> energy_gev, std::span<const float> theta, uint64_t seed,
                                  int64_t chunk) const = 0;

 private:
  std::string source_;
  std::optional<primaries::TrainedRange> range_;
};

namespace {

class GanShowers final : public ShowerGenerator::Kind {
 public:
  explicit GanShowers(GeneratorModel model)
      : Kind(model.source, model.range),
        model_(std::move(model)),
        generator_(model_.foreign ? models::threedgan::Generator(*model_.foreign)
                                  : models::threedgan::Generator(model_.graph)) {}

  EventShape shape() const override {
    const graph::Shape& image = model_.graph.nodes[static_cast<size_t>(model_.graph.outputs[0])].output;
    return {image[0], image[1], image[2]};
  }

  std::vector<float> make(std::span<const float> energy_gev, std::span<const float> theta, uint64_t seed,
                          int64_t chunk) const override {
    const double energy_unit_gev = data::Preprocessing{}.energy_unit_gev;
    std::vector<float> energy(energy_gev.begin(), energy_gev.end());
    for (float& value : energy) value = static_cast<float>(value / energy_unit_gev);
    const RngKey key{.seed = seed, .stream = Stream::kSample, .lane = 2, .step = static_cast<uint32_t>(chunk)};
    return to_gev(model_.job, generator_.run(model_.parameters, generator_.latents(energy, theta, key)));
  }

 private:
  GeneratorModel model_;
  models::threedgan::Generator generator_;
};

// Networks that do not know yet where a shower is hit about everything. Then no cell is passed over.
void tell_if_hardly_trained(const std::string& source, const chain::ChainParts& parts) {
  constexpr float kMuch = 0.25F;  // trained ones: 1/512
  const auto of_kind = [&](int kind) { return parts.halo[chain::HaloBounds::at(kind, 0)].chance; };
  const float chance = std::max(of_kind(0), of_kind(1));  // without a hit beside, in the first pass and the others
  if (chance < kMuch) return;
  log::warn(
      fmt::format("[model] {}: is hardly trained: where nothing is expected it hits cells with a chance of up to "
                  "{:.2f}. So it looks at every cell, and a shower takes tens of times as long as a trained one's; "
                  "train it for more steps",
                  source, chance));
}

class ChainShowers final : public ShowerGenerator::Kind {
 public:
  ChainShowers(const std::filesystem::path& path, chain::ChainFile file)
      : Kind(path.string(), file.range), chain_(std::move(file.parts), path.string()) {}

  EventShape shape() const override { return chain_.shape(); }

  std::vector<float> make(std::span<const float> energy_gev, std::span<const float> theta, uint64_t seed,
                          int64_t chunk) const override {
    const auto cells = static_cast<size_t>(shape().cells());
    std::vector<float> images(energy_gev.size() * cells);
    chain::ShowerChain::Workspace workspace(chain_);
    for (size_t i = 0; i < energy_gev.size(); ++i) {
      const auto event = static_cast<uint64_t>(chunk * ShowerGenerator::kChunk) + i;
      chain_.make(energy_gev[i], theta[i], chain::chain_key(seed, event), std::span(images).subspan(i * cells, cells),
                  workspace);
    }
    return images;
  }

 private:
  chain::ShowerChain chain_;
};

std::unique_ptr<const ShowerGenerator::Kind> chain_showers(const std::filesystem::path& path, chain::ChainFile file) {
  tell_if_hardly_trained(path.string(), file.parts);
  return std::make_unique<ChainShowers>(path, std::move(file));
}

std::unique_ptr<const ShowerGenerator::Kind> open(const std::filesystem::path& named) {
  const std::filesystem::path path = told_model(named.string());
  if (chain::is_chain_file(path)) return chain_showers(path, chain::load_chain(path));
  if (path.extension() == ".keras") return std::make_unique<GanShowers>(load_generator(path));
  Checkpoint checkpoint = load_checkpoint(path);
  if (is_chain_run(checkpoint.job)) return chain_showers(checkpoint.path, chain_of(checkpoint));
  return std::make_unique<GanShowers>(generator_of(std::move(checkpoint)));
}

}  // namespace

ShowerGenerator::ShowerGenerator(const std::filesystem::path& run_or_file) : kind_(open(run_or_file)) {}
ShowerGenerator::ShowerGenerator(ShowerGenerator&&) noexcept = default;
ShowerGenerator::~ShowerGenerator() = default;

EventShape ShowerGenerator::shape() const {
  return kind_->shape();
}

const std::string& ShowerGenerator::source() const {
  return kind_->source();
}

const std::optional<primaries::TrainedRange>& ShowerGenerator::range() const {
  return kind_->range();
}

std::vector<float> ShowerGenerator::make(std::span<const float> energy_gev, std::span<const float> theta, uint64_t seed,
                                         int64_t chunk) const {
  LINAC_CHECK(energy_gev.size() == theta.size() && energy_gev.size() <= static_cast<size_t>(kChunk));
  return kind_->make(energy_gev, theta, seed, chunk);
}

}  // namespace linac::trained
