#include "linac/physics/physics/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>

#include "linac/base/base/error.h"
#include "linac/physics/physics/two_sample.h"

namespace linac::physics {
namespace {

constexpr int kHistogramBins = 30;
constexpr double kEnergyShare = 0.95;  // held by the layers that profile.z.worst looks at

// A sample under one set of weights.
struct View {
  const Sample* sample;
  int replica;
  float weight(size_t event) const { return sample->weight(event, replica); }
};

// The value of one or more figures for a reference and a sample.
using Evaluate = std::function<std::vector<double>(const View& reference, const View& sample)>;

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

struct MeanAndWidth {
  double mean = 0, width = 0;
};

MeanAndWidth mean_and_width(const View& view, const std::vector<uint32_t>& events, Observable observable) {
  const auto values = view.sample->values(observable);
  double weights = 0, sum = 0, squares = 0;
  for (const uint32_t event : events) {
    weights += view.weight(event);
    sum += view.weight(event) * values[event];
  }
  if (!(weights > 1)) return {};
  const double mean = sum / weights;
  for (const uint32_t event : events) squares += view.weight(event) * (values[event] - mean) * (values[event] - mean);
  return {mean, std::sqrt(squares / (weights - 1))};
}

double relative_change(double value, double reference) {
  return reference != 0 ? std::abs(value / reference - 1) : (value == 0 ? 0.0 : 1.0);
}

class Comparison {
 public:
  Comparison(const Sample& reference, const Sample& sample, const ComparisonOptions& options)
      : reference_(reference), sample_(sample), options_(options) {
    for (size_t o = 0; o < kObservables; ++o) {
      const auto values = reference.values(static_cast<Observable>(o));
      std::vector<float> ascending(values.begin(), values.end());
      std::erase_if(ascending, [](float value) { return !std::isfinite(value); });
      std::sort(ascending.begin(), ascending.end());
      binning_[o] = central_binning(ascending, kHistogramBins);
      std::vector<double> wide(values.begin(), values.end());
      width_[o] = deviation_of(wide);
    }
  }

  std::vector<Figure> run() {
    in_bin({});
    add_linearity();
    add_similarity();
    add_features();
    if (options_.in_bins) {
      for (int energy = 0; energy < reference_.energy_bins(); ++energy) in_bin({energy, -1});
      for (int angle = 0; angle < reference_.angle_bins(); ++angle) in_bin({-1, angle});
    }
    return std::move(figures_);
  }

 private:
  void in_bin(const Bin& bin) {
    const std::vector<uint32_t> reference_events = reference_.events_in(bin), sample_events = sample_.events_in(bin);
    add_response(bin, reference_events, sample_events);
    add_profiles(bin);
    for (size_t o = 0; o < kObservables; ++o)
      add_distances(static_cast<Observable>(o), bin, reference_events, sample_events);
  }

  // Value, bootstrap and floor of the figures that `evaluate` computes.
  void add(const std::vector<std::pair<std::string, std::string>>& names, const Bin& bin, const Evaluate& evaluate) {
    const std::vector<double> values = evaluate({&reference_, 0}, {&sample_, 0});
    std::vector<std::vector<double>> replicas(names.size()), halves(names.size());
    const auto collect = [&](std::vector<std::vector<double>>& into, const View& a, const View& b) {
      const std::vector<double> found = evaluate(a, b);
      for (size_t i = 0; i < found.size(); ++i) into[i].push_back(found[i]);
    };
    for (int i = 0; i < reference_.options().bootstraps; ++i) {
      collect(replicas, {&reference_, reference_.bootstrap(i)}, {&sample_, sample_.bootstrap(i)});
    }
    for (int i = 0; i < reference_.options().halves; ++i) {
      collect(halves, {&reference_, reference_.half(i, false)}, {&reference_, reference_.half(i, true)});
    }
    for (size_t i = 0; i < names.size(); ++i) {
      figures_.push_back({names[i].first, names[i].second, bin, values[i], deviation_of(replicas[i]),
                          mean_of(halves[i]), deviation_of(halves[i])});
    }
  }

  void add_distances(Observable observable, const Bin& bin, const std::vector<uint32_t>& reference_events,
                     const std::vector<uint32_t>& sample_events) {
    struct Entry {
      float value;
      uint32_t event;
      const Sample* owner;
    };
    std::vector<Entry> entries;
    for (const uint32_t event : reference_events)
      entries.push_back({reference_.values(observable)[event], event, &reference_});
    for (const uint32_t event : sample_events) entries.push_back({sample_.values(observable)[event], event, &sample_});
    // NaN comes last: with a plain < the values beside it would be out of order.
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.value < b.value || (std::isnan(b.value) && !std::isnan(a.value));
    });
    std::vector<float> values(entries.size()), a(entries.size()), b(entries.size());
    for (size_t i = 0; i < entries.size(); ++i) values[i] = entries[i].value;
    const double width = width_[observable] > 0 ? width_[observable] : 1;
    const auto evaluate = [&](const View& reference, const View& sample) -> std::vector<double> {
      for (size_t i = 0; i < entries.size(); ++i) {
        a[i] = entries[i].owner == reference.sample ? reference.weight(entries[i].event) : 0;
        b[i] = entries[i].owner == sample.sample ? sample.weight(entries[i].event) : 0;
      }
      const TwoSampleDistances distances = two_sample(values, a, b, binning_[observable]);
      return {distances.ks, distances.wasserstein / width, distances.separation, distances.chi2_per_ndf};
    };
    const ObservableInfo& info = observable_table()[observable];
    const std::string name = info.name;
    add({{"ks." + name, info.title},
         {"wasserstein." + name, info.title},
         {"separation." + name, info.title},
         {"chi2." + name, info.title}},
        bin, evaluate);
  }

  void add_response(const Bin& bin, const std::vector<uint32_t>& reference_events,
                    const std::vector<uint32_t>& sample_events) {
    add({{"response.mean", "mean response, relative"}, {"response.width", "width of the response, relative"}}, bin,
        [&](const View& reference, const View& sample) -> std::vector<double> {
          const auto& events = sample.sample == &reference_ ? reference_events : sample_events;
          const MeanAndWidth a = mean_and_width(reference, reference_events, kResponse);
          const MeanAndWidth b = mean_and_width(sample, events, kResponse);
          return {relative_change(b.mean, a.mean), relative_change(b.width, a.width)};
        });
  }

  void add_profiles(const Bin& bin) {
    add({{"profile.z", "mean energy by layer"},
         {"profile.z.worst", "worst layer of those with 95 % of the energy"},
         {"profile.x", "mean energy across, x"},
         {"profile.y", "mean energy across, y"},
         {"profile.radial", "mean energy by distance from the barycentre"},
         {"spectrum", "number of cells by energy"}},
        bin, [&](const View& reference, const View& sample) -> std::vector<double> {
          const auto distance = [&](Profile profile) {
            return relative_distance(sample.sample->profile(profile, sample.replica, bin),
                                     reference.sample->profile(profile, reference.replica, bin));
          };
          return {distance(Profile::kDepth),
                  worst_deviation(sample.sample->profile(Profile::kDepth, sample.replica, bin),
                                  reference.sample->profile(Profile::kDepth, reference.replica, bin), kEnergyShare),
                  distance(Profile::kX),
                  distance(Profile::kY),
                  distance(Profile::kRadial),
                  distance(Profile::kSpectrum)};
        });
  }

  // Whether the ratio of the mean responses is the same at all energies.
  void add_linearity() {
    std::vector<std::vector<uint32_t>> reference_events, sample_events;
    for (int energy = -1; energy < reference_.energy_bins(); ++energy) {
      reference_events.push_back(reference_.events_in({energy, -1}));
      sample_events.push_back(sample_.events_in({energy, -1}));
    }
    add({{"linearity", "worst energy bin's mean response against the overall one"}}, {},
        [&](const View& reference, const View& sample) -> std::vector<double> {
          const auto& events = sample.sample == &reference_ ? reference_events : sample_events;
          double overall = 0, worst = 0;
          for (size_t i = 0; i < events.size(); ++i) {
            const double below = mean_and_width(reference, reference_events[i], kResponse).mean;
            const double ratio = below != 0 ? mean_and_width(sample, events[i], kResponse).mean / below : 1;
            if (i == 0) overall = ratio;
            worst = std::max(worst, relative_change(ratio, overall));
          }
          return {worst};
        });
  }

  void add_similarity() {
    const auto mean_similarity = [](const View& view) {
      double sum = 0, weights = 0;
      for (const Sample::Pair& pair : view.sample->pairs()) {
        sum += view.weight(pair.event) * pair.similarity;
        weights += view.weight(pair.event);
      }
      return weights > 0 ? sum / weights : 0;
    };
    add({{"ssim", "how much more (or less) alike showers are than the reference's"}}, {},
        [&](const View& reference, const View& sample) -> std::vector<double> {
          return {std::abs(mean_similarity(sample) - mean_similarity(reference))};
        });
  }

  // Observables of every stride-th event.
  struct Features {
    Matrix rows;
    int64_t stride;
  };

  static int64_t stride_of(const Sample& sample, int64_t events_max) {
    return (sample.events() + events_max - 1) / events_max;
  }

  static Matrix features(const Sample& sample, int64_t events_max) {
    return observable_matrix(sample, stride_of(sample, events_max));
  }

  static Vector weights(const View& view, const Features& features) {
    Vector result(features.rows.rows());
    for (Eigen::Index i = 0; i < result.size(); ++i) result[i] = view.weight(static_cast<size_t>(i * features.stride));
    return result;
  }

  void add_features() {
    const Matrix raw = features(reference_, options_.feature_events_max);
    const Scaling scaling = scaling_of(raw);
    const Features a{standardise(raw, scaling), stride_of(reference_, options_.feature_events_max)};
    const Features b{standardise(features(sample_, options_.feature_events_max), scaling),
                     stride_of(sample_, options_.feature_events_max)};
    const auto gaussian_of = [&](const View& view) {
      const Features& picked = view.sample == &reference_ ? a : b;
      return gaussian(picked.rows, weights(view, picked));
    };
    add({{"fpd", "Frechet physics distance"}, {"correlation", "correlations among the observables"}}, {},
        [&](const View& reference, const View& sample) -> std::vector<double> {
          const Gaussian p = gaussian_of(reference), q = gaussian_of(sample);
          return {frechet_distance(p, q), correlation_distance(correlation(p), correlation(q))};
        });
    add_kernel_distance(scaling);
  }

  void add_kernel_distance(const Scaling& scaling) {
    const auto few = [&](const Sample& sample) {
      return Features{standardise(features(sample, options_.kernel_events_max), scaling),
                      stride_of(sample, options_.kernel_events_max)};
    };
    const Features a = few(reference_), b = few(sample_);
    const Matrix aa = kernel_matrix(a.rows, a.rows), bb = kernel_matrix(b.rows, b.rows),
                 ab = kernel_matrix(a.rows, b.rows);
    add({{"kpd", "kernel physics distance"}}, {},
        [&](const View& reference, const View& sample) -> std::vector<double> {
          const Vector a_weights = weights(reference, a);
          if (sample.sample == &reference_)
            return {std::abs(kernel_distance(aa, aa, aa, a_weights, weights(sample, a)))};
          return {std::abs(kernel_distance(aa, bb, ab, a_weights, weights(sample, b)))};
        });
  }

  const Sample& reference_;
  const Sample& sample_;
  ComparisonOptions options_;
  std::array<Binning, kObservables> binning_;
  std::array<double, kObservables> width_{};
  std::vector<Figure> figures_;
};

}  // namespace

std::vector<Figure> compare(const Sample& reference, const Sample& sample, const ComparisonOptions& options) {
  LINAC_CHECK(&reference != &sample && reference.shape() == sample.shape() &&
              reference.replicas() == sample.replicas() && reference.energy_bins() == sample.energy_bins() &&
              reference.angle_bins() == sample.angle_bins());
  if (reference.events() == 0 || sample.events() == 0) return {};
  return Comparison(reference, sample, options).run();
}

Matrix observable_matrix(const Sample& sample, int64_t stride) {
  Matrix result((sample.events() + stride - 1) / stride, static_cast<Eigen::Index>(kObservables));
  for (size_t o = 0; o < kObservables; ++o) {
    const auto values = sample.values(static_cast<Observable>(o));
    for (Eigen::Index i = 0; i < result.rows(); ++i)
      result(i, static_cast<Eigen::Index>(o)) = values[static_cast<size_t>(i * stride)];
  }
  return result;
}

std::vector<std::string> figure_names() {
  std::vector<std::string> names{"response.mean",
                                 "response.width",
                                 "linearity",
                                 "profile.z",
                                 "profile.z.worst",
                                 "profile.x",
                                 "profile.y",
                                 "profile.radial",
                                 "spectrum",
                                 "correlation",
                                 "fpd",
                                 "kpd",
                                 "ssim"};
  for (const char* family : {"ks", "wasserstein", "separation", "chi2"})
    for (const ObservableInfo& info : observable_table()) names.push_back(fmt::format("{}.{}", family, info.name));
  return names;
}

std::string family_title(const std::string& figure_name) {
  static const std::map<std::string, std::string> titles{
      {"ks", "Kolmogorov-Smirnov distance"},
      {"wasserstein", "Wasserstein-1 distance, in standard deviations"},
      {"separation", "separation power"},
      {"chi2", "chi2 per degree of freedom"},
  };
  const auto found = titles.find(figure_name.substr(0, figure_name.find('.')));
  return found == titles.end() ? figure_name : found->second;
}

std::string bin_title(const Sample& sample, const Bin& bin) {
  const auto at = [](const std::vector<double>& edges, int i) { return edges[static_cast<size_t>(i)]; };
  std::string title;
  if (bin.energy >= 0) {
    const auto& edges = sample.options().energy_edges;
    title = fmt::format("energy {:.4g}-{:.4g} GeV", at(edges, bin.energy), at(edges, bin.energy + 1));
  }
  if (bin.angle >= 0) {
    constexpr double kDegrees = 180 / std::numbers::pi;
    const auto& edges = sample.options().angle_edges;
    title += fmt::format("{}angle {:.4g}-{:.4g} deg", title.empty() ? "" : ", ", at(edges, bin.angle) * kDegrees,
                         at(edges, bin.angle + 1) * kDegrees);
  }
  return title;
}

}  // namespace linac::physics
