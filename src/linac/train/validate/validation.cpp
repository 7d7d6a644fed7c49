#include "linac/train/validate/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/progress.h"
#include "linac/model/models/binary_classifier.h"
#include "linac/physics/physics/collapse.h"
#include "linac/physics/physics/similarity.h"
#include "linac/train/validate/coarse_image.h"

namespace linac::validate {
namespace {

using physics::Figure;
using physics::Sample;
using Clock = std::chrono::steady_clock;

constexpr double kCloseShare = 0.01;            // of the reference's showers count as close to another one
constexpr int64_t kFewEvents = 200;             // fewer deserve a remark
constexpr std::array kExamples{0.2, 0.5, 0.8};  // of the energy range, in the middle of the angles

// What is kept of a source beside its Sample.
struct Collected {
  std::unique_ptr<Sample> sample;
  int64_t stride = 1;         // of the showers for the classifiers
  std::vector<float> coarse;  // [events / stride][coarse cells]
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

physics::SampleOptions sample_options(const ShowerSource& reference, const ValidationOptions& options) {
  physics::SampleOptions result{.energy_edges = physics::even_edges(reference.energies_gev(), options.energy_bins),
                                .angle_edges = physics::even_edges(reference.angles(), options.angle_bins),
                                .bootstraps = options.bootstraps,
                                .halves = options.halves,
                                .seed = options.seed};
  const Range energy = reference.energies_gev(), angle = reference.angles();
  for (const double part : kExamples) {
    physics::Shower wanted;
    wanted.energy_gev = energy.low + part * (energy.high - energy.low);
    wanted.theta = (angle.low + angle.high) / 2;
    result.wanted.push_back(wanted);
  }
  return result;
}

Collected collect(const ShowerSource& source, physics::SampleOptions sample_options, const ValidationOptions& options) {
  Collected collected;
  if (options.classifiers)
    collected.stride =
        std::max<int64_t>(1, (source.events() + options.classifier_events_max - 1) / options.classifier_events_max);
  sample_options.shapes_max = options.neighbours_max;
  collected.sample = std::make_unique<Sample>(source.shape(), std::move(sample_options));
  physics::Observer observer(source.shape(), options.hit_threshold_gev);
  Progress progress("reading " + source.name(), source.events());
  source.each([&](std::span<const float> image, double energy_gev, double theta) {
    Sample& sample = *collected.sample;
    if (options.classifiers && sample.events() % collected.stride == 0)
      append_coarse_image(image, source.shape(), collected.coarse);
    sample.add(observer.observe(image, energy_gev, theta));
    progress.update(sample.events(), "");
  });
  progress.finish("");
  return collected;
}

// Standardised observables of every stride-th shower, [events][observables].
std::vector<float> observable_rows(const Collected& collected, const physics::Scaling& scaling) {
  const physics::Matrix values =
      physics::standardise(physics::observable_matrix(*collected.sample, collected.stride), scaling);
  std::vector<float> rows;
  for (Eigen::Index event = 0; event < values.rows(); ++event)
    for (Eigen::Index o = 0; o < values.cols(); ++o) rows.push_back(static_cast<float>(values(event, o)));
  return rows;
}

// The rows of every other shower, and of the others.
std::pair<std::vector<float>, std::vector<float>> halves(const std::vector<float>& rows, size_t length) {
  std::pair<std::vector<float>, std::vector<float>> result;
  for (size_t row = 0; row * length < rows.size(); ++row) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(row * length);
    auto& half = row % 2 == 0 ? result.first : result.second;
    half.insert(half.end(), begin, begin + static_cast<std::ptrdiff_t>(length));
  }
  return result;
}

Figure auc_figure(const std::string& name, const std::string& title, const graph::Graph& network,
                  const std::vector<float>& reference, const std::vector<float>& sample,
                  const DiscriminationOptions& options) {
  const auto length =
      static_cast<size_t>(graph::elements(network.nodes[static_cast<size_t>(network.inputs[0])].output));
  const Auc found = discriminate(network, reference, sample, options);
  const auto half = halves(reference, length);
  const Auc floor = discriminate(network, half.first, half.second, options);
  return {name, title, {}, found.value, found.uncertainty, floor.value, floor.uncertainty};
}

void add_classifiers(const Collected& reference, const Collected& sample, const ValidationOptions& options,
                     std::vector<Figure>& figures) {
  DiscriminationOptions settings{.seed = options.seed, .threads = options.threads};
  const physics::Scaling scaling = physics::scaling_of(physics::observable_matrix(*reference.sample, 1));
  figures.push_back(auc_figure("auc.observables", "AUC of a classifier on the observables",
                               models::observables_classifier(physics::kObservables),
                               observable_rows(reference, scaling), observable_rows(sample, scaling), settings));
  settings.epochs = 8;
  const EventShape coarse = coarse_shape(reference.sample->shape());
  figures.push_back(auc_figure("auc.cells", "AUC of a classifier on the cells",
                               models::cells_classifier({coarse.x, coarse.y, coarse.z, 1}), reference.coarse,
                               sample.coarse, settings));
}

double part_below(const std::vector<float>& values, double threshold) {
  if (values.empty()) return 0;
  const auto below = std::count_if(values.begin(), values.end(), [&](float value) { return value < threshold; });
  return static_cast<double>(below) / static_cast<double>(values.size());
}

double quantile(std::vector<float> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

// How many of the sample's distances are smaller than all but few of the reference's.
Figure closeness(const std::string& name, const std::string& title, const std::vector<float>& reference,
                 const std::vector<float>& sample) {
  const double threshold = quantile(reference, kCloseShare);
  const double value = part_below(sample, threshold), floor = part_below(reference, threshold);
  const auto deviation = [](double part, size_t n) {
    return std::sqrt(part * (1 - part) / static_cast<double>(std::max<size_t>(1, n)));
  };
  return {name, title, {}, value, deviation(value, sample.size()), floor, deviation(floor, reference.size())};
}

void add_neighbours(const Sample& reference, const Sample& sample, const Sample* training,
                    std::vector<Figure>& figures) {
  const EventShape& shape = reference.shape();
  const int64_t length = (shape.x + shape.y) * shape.z;
  // As many of both: the nearest of more showers is nearer.
  const size_t size = std::min(reference.shapes().size(), sample.shapes().size());
  const auto ours = std::span(sample.shapes()).first(size), theirs = std::span(reference.shapes()).first(size);
  const auto within = [&](std::span<const float> rows) {
    return physics::nearest_distances(rows, rows, length, physics::Same::kYes);
  };
  figures.push_back(closeness("duplicates", "showers with an unnaturally close neighbour in their own sample",
                              within(theirs), within(ours)));
  if (training == nullptr) return;
  const auto towards = [&](std::span<const float> rows) {
    return physics::nearest_distances(rows, training->shapes(), length, physics::Same::kNo);
  };
  figures.push_back(
      closeness("memorised", "showers unnaturally close to one of the training set", towards(theirs), towards(ours)));
}

void check_source(const ShowerSource& source, const EventShape& shape) {
  if (source.events() == 0) throw data_error(fmt::format("[validate] {}: no showers", source.name()));
  if (source.shape() == shape) return;
  throw data_error(fmt::format("[validate] {}: showers of {} cells, but the reference has {}; compare like with like",
                               source.name(), data::to_string(source.shape()), data::to_string(shape)));
}

}  // namespace

std::vector<std::string> figure_names(const ValidationOptions& options, bool with_training) {
  std::vector<std::string> names = physics::figure_names();
  names.emplace_back("duplicates");
  if (with_training) names.emplace_back("memorised");
  if (options.classifiers) names.insert(names.end(), {"auc.observables", "auc.cells"});
  return names;
}

std::unique_ptr<Sample> read_beside(const ShowerSource& source, const ShowerSource& reference,
                                    const ValidationOptions& options) {
  check_source(source, reference.shape());
  physics::SampleOptions settings = sample_options(reference, options);
  settings.bootstraps = settings.halves = 0;
  ValidationOptions maps_only = options;
  maps_only.classifiers = false;
  maps_only.neighbours_max = 0;
  return collect(source, std::move(settings), maps_only).sample;
}

Validation validate(const ShowerSource& reference, const ShowerSource& sample, const ShowerSource* training,
                    const ValidationOptions& options) {
  for (const ShowerSource* source : {&reference, &sample, training})
    if (source != nullptr) check_source(*source, reference.shape());
  Validation result;
  auto begin = Clock::now();
  physics::SampleOptions settings = sample_options(reference, options);
  Collected ours, theirs = collect(reference, settings, options), seen;
  settings.lane = 1;
  ours = collect(sample, settings, options);
  if (training != nullptr) {
    ValidationOptions shapes_only = options;
    shapes_only.classifiers = false;
    settings.bootstraps = settings.halves = 0;
    settings.lane = 2;
    seen = collect(*training, settings, shapes_only);
  }
  result.seconds_reading = seconds_since(begin);

  begin = Clock::now();
  result.figures = physics::compare(*theirs.sample, *ours.sample);
  add_neighbours(*theirs.sample, *ours.sample, seen.sample.get(), result.figures);
  result.remarks = physics::signs_of_collapse(*theirs.sample, *ours.sample);
  for (std::string& sign : result.remarks) sign = "collapse: " + sign;
  result.seconds_figures = seconds_since(begin);

  begin = Clock::now();
  if (options.classifiers) add_classifiers(theirs, ours, options, result.figures);
  result.seconds_classifiers = seconds_since(begin);
  for (const ShowerSource* source : {&reference, &sample}) {
    for (std::string& remark : source->remarks()) result.remarks.push_back(std::move(remark));
    if (source->events() < kFewEvents)
      result.remarks.push_back(fmt::format("{} holds {} only: floors and uncertainties are wide", source->name(),
                                           plural(source->events(), "shower")));
  }
  result.reference = std::move(theirs.sample);
  result.sample = std::move(ours.sample);
  return result;
}

}  // namespace linac::validate
