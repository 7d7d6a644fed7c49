#include "linac/train/train/loops/evaluation.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "linac/base/base/piece_of_work.h"
#include "linac/physics/physics/shower_record.h"
#include "linac/train/train/loops/quick_figures.h"
#include "linac/train/trained/shower_generator.h"

namespace linac::train {
namespace {

using models::threedgan::Batch;
using models::threedgan::kLossNames;
using models::threedgan::kLossParts;
using Parts = std::array<double, kLossParts>;

constexpr std::array<const char*, 3> kPhaseNames{"d_real", "d_fake", "g"};

}  // namespace

// What one replica finds out about its part of the test showers, and its place in the message that adds the parts up.
struct Evaluation::Share {
  static constexpr size_t kPhases = kPhaseNames.size();

  Share(const EventShape& shape, int64_t looked_at)
      : generated(shape.x, shape.y, shape.z),
        reference(generated),
        looked_at(looked_at),
        record_size(physics::record_size(shape)),
        records(2 * static_cast<size_t>(looked_at) * record_size) {}

  // The row of an event among the records: those of generated showers first.
  std::span<float> record(bool real, int64_t event) {
    const auto row = static_cast<size_t>((real ? looked_at : 0) + event);
    return std::span(records).subspan(row * record_size, record_size);
  }

  AlignedFloats message() const {
    AlignedFloats values;
    for (const Parts& parts : losses) values.insert(values.end(), parts.begin(), parts.end());
    for (const physics::Projections* projections : {&generated, &reference}) {
      const auto flat = projections->flat();
      values.insert(values.end(), flat.begin(), flat.end());
    }
    values.insert(values.end(), records.begin(), records.end());
    return values;
  }

  void assign(std::span<const float> message, int64_t events) {
    for (Parts& parts : losses) {
      std::copy_n(message.begin(), kLossParts, parts.begin());
      message = message.subspan(kLossParts);
    }
    for (physics::Projections* projections : {&generated, &reference}) {
      const size_t size = projections->flat().size();
      projections->assign_flat(message.first(size), events);
      message = message.subspan(size);
    }
    std::copy(message.begin(), message.end(), records.begin());
  }

  std::array<Parts, kPhases> losses{};
  physics::Projections generated, reference;
  int64_t looked_at;  // events that get a record: the first ones
  size_t record_size;
  AlignedFloats records;  // zero where another replica looked
};

void Evaluation::chunk(const graph::Parameters& generator, const graph::Parameters& discriminator, int64_t epoch,
                       const data::Dataset& dataset, int64_t number, Share& share) const {
  const int64_t events = dataset.size(), first = number * job_.train.batch;
  std::vector<int64_t> wanted(static_cast<size_t>(std::min(job_.train.batch, events - first)));
  std::iota(wanted.begin(), wanted.end(), first);
  data::SampleBatch samples;
  dataset.read(wanted, samples);
  const Batch real{samples.image, samples.energy, samples.angle, samples.ecal};
  const RngKey key{
      .seed = job_.train.seed, .epoch = static_cast<uint32_t>(epoch), .step = static_cast<uint32_t>(number)};
  const auto images = model_.sampler().run(generator, model_.test_latents(real, key));
  const auto add_losses = [&](size_t phase, std::span<const float> shown, float label) {
    const auto parts = model_.test_losses(discriminator, real, shown, label, 1.0 / static_cast<double>(events));
    for (size_t part = 0; part < kLossParts; ++part) share.losses[phase][part] += parts[part];
  };
  add_losses(0, real.image, 1);
  add_losses(1, images, 0);
  add_losses(2, images, 1);
  physics::Observer observer(dataset.shape(), job_.validate.threshold_gev);
  for (const bool is_real : {false, true}) {
    const std::vector<float> gev = trained::to_gev(job_, is_real ? real.image : std::span<const float>(images));
    (is_real ? share.reference : share.generated).add(gev);
    const auto cells = static_cast<size_t>(dataset.shape().cells());
    for (size_t i = 0; i < wanted.size() && wanted[i] < share.looked_at; ++i) {
      const double energy_gev = real.energy[i] * dataset.preprocessing().energy_unit_gev;
      physics::to_record(observer.observe(std::span(gev).subspan(i * cells, cells), energy_gev, real.angle[i]),
                         share.record(is_real, wanted[i]));
    }
  }
  piece_is_done();
}

std::pair<TestResult, TestProjections> Evaluation::run(const graph::Parameters& generator,
                                                       const graph::Parameters& discriminator, int64_t epoch,
                                                       const data::Dataset& dataset, Figures figures) {
  const int64_t chunks = (dataset.size() + job_.train.batch - 1) / job_.train.batch;
  const int64_t looked_at = figures == Figures::kWanted ? std::min(dataset.size(), job_.validate.events) : 0;

  Share whole(dataset.shape(), looked_at);
  AlignedFloats total(whole.message().size());
  replicas_.sum_chunks(
      chunks,
      [&](std::span<const int64_t> numbers, graph::PartLink*) {
        Share share(dataset.shape(), looked_at);
        for (const int64_t number : numbers) chunk(generator, discriminator, epoch, dataset, number, share);
        return share.message();
      },
      total);
  whole.assign(total, dataset.size());

  TestResult result;
  for (size_t part = 0; part < kLossParts; ++part) {
    for (size_t phase = 0; phase < Share::kPhases; ++phase)
      result.losses[std::string(kPhaseNames[phase]) + "/" + kLossNames[part]] = whole.losses[phase][part];
  }
  if (looked_at > 0) {
    const QuickFigures quick = quick_figures(dataset, looked_at, [&](bool real, int64_t event) {
      return physics::from_record(whole.record(real, event), dataset.shape());
    });
    result.physics = quick.values;
    result.signs_of_collapse = quick.signs_of_collapse;
  }
  return {std::move(result), {std::move(whole.generated), std::move(whole.reference)}};
}

}  // namespace linac::train
