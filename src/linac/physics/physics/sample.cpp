#include "linac/physics/physics/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/base/base/bootstrap.h"
#include "linac/base/base/error.h"
#include "linac/physics/physics/similarity.h"

namespace linac::physics {
namespace {

int bin_of(const std::vector<double>& edges, double value) {
  const auto above = std::upper_bound(edges.begin() + 1, edges.end() - 1, value);
  return static_cast<int>(above - edges.begin()) - 1;
}

// How far a shower is from the wanted one: relative in energy, in rad.
double distance(const Shower& shower, const Shower& wanted) {
  return std::abs(shower.energy_gev / wanted.energy_gev - 1) + std::abs(shower.theta - wanted.theta);
}

}  // namespace

std::vector<double> even_edges(const Range& range, int bins) {
  const double width = range.high > range.low ? range.high - range.low : 1;
  std::vector<double> edges;
  for (int i = 0; i <= bins; ++i) edges.push_back(range.low + width * i / bins);
  return edges;
}

Sample::Sample(const EventShape& shape, SampleOptions options)
    : shape_(shape), options_(std::move(options)), maps_(shape.x, shape.y, shape.z) {
  LINAC_CHECK(options_.energy_edges.size() >= 2 && options_.angle_edges.size() >= 2);
  const Part last = part(Profile::kSpectrum);
  profile_size_ = last.first + last.size;
  const auto cells = static_cast<size_t>(energy_bins() * angle_bins()), replicas_size = static_cast<size_t>(replicas());
  LINAC_CHECK(cells <= std::numeric_limits<uint16_t>::max());
  profile_sums_.resize(cells * replicas_size * profile_size_);
  weight_sums_.resize(cells * replicas_size);
  last_picture_.resize(cells);
  examples_.resize(options_.wanted.size());
}

void Sample::add(const Shower& shower) {
  const auto event = static_cast<size_t>(events());
  const size_t cell = cell_of(shower.energy_gev, shower.theta);
  for (size_t o = 0; o < kObservables; ++o) values_[o].push_back(shower.values[o]);
  energy_.push_back(static_cast<float>(shower.energy_gev));
  angle_.push_back(static_cast<float>(shower.theta));
  cell_.push_back(static_cast<uint16_t>(cell));
  add_weights(event);
  add_profiles(shower, event, cell);
  add_pair(shower, static_cast<uint32_t>(event), cell);
  keep_example(shower);
  maps_.merge(shower.maps);
  if (static_cast<int64_t>(event) < options_.shapes_max) {
    const std::vector<float> vector = shape_vector(shower.maps);
    shapes_.insert(shapes_.end(), vector.begin(), vector.end());
  }
}

std::vector<uint32_t> Sample::events_in(const Bin& bin) const {
  std::vector<uint32_t> found;
  for (size_t event = 0; event < cell_.size(); ++event) {
    const int energy = cell_[event] / angle_bins(), angle = cell_[event] % angle_bins();
    if ((bin.energy < 0 || bin.energy == energy) && (bin.angle < 0 || bin.angle == angle))
      found.push_back(static_cast<uint32_t>(event));
  }
  return found;
}

std::vector<double> Sample::profile(Profile profile, int replica, const Bin& bin) const {
  const Part wanted = part(profile);
  std::vector<double> mean(wanted.size);
  double weight = 0;
  for (int energy = 0; energy < energy_bins(); ++energy) {
    for (int angle = 0; angle < angle_bins(); ++angle) {
      if ((bin.energy >= 0 && bin.energy != energy) || (bin.angle >= 0 && bin.angle != angle)) continue;
      const size_t row = static_cast<size_t>((energy * angle_bins() + angle) * replicas() + replica);
      const double* sums = &profile_sums_[row * profile_size_ + wanted.first];
      for (size_t i = 0; i < wanted.size; ++i) mean[i] += sums[i];
      weight += weight_sums_[row];
    }
  }
  if (weight > 0)
    for (double& value : mean) value /= weight;
  return mean;
}

size_t Sample::cell_of(double energy, double angle) const {
  return static_cast<size_t>(bin_of(options_.energy_edges, energy) * angle_bins() +
                             bin_of(options_.angle_edges, angle));
}

void Sample::add_weights(uint64_t event) {
  const auto draws = static_cast<size_t>(options_.bootstraps + options_.halves);
  std::vector<float> uniform(draws);
  fill_event_uniform(options_.seed, options_.lane, event, uniform);
  weights_.push_back(1);
  for (int i = 0; i < options_.bootstraps; ++i) weights_.push_back(poisson_of_one(uniform[static_cast<size_t>(i)]));
  for (int i = options_.bootstraps; i < static_cast<int>(draws); ++i) {
    const bool first = uniform[static_cast<size_t>(i)] < 0.5F;
    weights_.push_back(first ? 1 : 0);
    weights_.push_back(first ? 0 : 1);
  }
}

void Sample::add_profiles(const Shower& shower, size_t event, size_t cell) {
  std::vector<double> all;
  all.reserve(profile_size_);
  for (const auto* values : {&shower.maps.longitudinal, &shower.maps.transverse_x, &shower.maps.transverse_y,
                             &shower.radial, &shower.spectrum}) {
    all.insert(all.end(), values->begin(), values->end());
  }
  LINAC_CHECK(all.size() == profile_size_);
  const double per_energy = shower.energy_gev > 0 ? 1 / shower.energy_gev : 0;
  for (int replica = 0; replica < replicas(); ++replica) {
    const double count = weight(event, replica), share = count * per_energy;
    if (count == 0) continue;
    const size_t row = cell * static_cast<size_t>(replicas()) + static_cast<size_t>(replica);
    double* sums = &profile_sums_[row * profile_size_];
    for (size_t i = 0; i < profile_size_; ++i) sums[i] += share * all[i];
    weight_sums_[row] += count;
  }
}

void Sample::add_pair(const Shower& shower, uint32_t event, size_t cell) {
  std::vector<float> picture = side_picture(shower.maps);
  if (last_picture_[cell].empty()) {
    last_picture_[cell] = std::move(picture);
    return;
  }
  pairs_.push_back(
      {event, static_cast<float>(structural_similarity(picture, last_picture_[cell], shape_.y, shape_.z))});
  last_picture_[cell].clear();
}

void Sample::keep_example(const Shower& shower) {
  for (size_t i = 0; i < examples_.size(); ++i) {
    const Shower& wanted = options_.wanted[i];
    if (events() == 1 || distance(shower, wanted) < distance(examples_[i], wanted)) examples_[i] = shower;
  }
}

Sample::Part Sample::part(Profile profile) const {
  const auto x = static_cast<size_t>(shape_.x), y = static_cast<size_t>(shape_.y), z = static_cast<size_t>(shape_.z);
  const auto rings = static_cast<size_t>(std::hypot(static_cast<double>(x), static_cast<double>(y)) / kRingWidth) + 1;
  switch (profile) {
    case Profile::kDepth:
      return {0, z};
    case Profile::kX:
      return {z, x};
    case Profile::kY:
      return {z + x, y};
    case Profile::kRadial:
      return {z + x + y, rings};
    case Profile::kSpectrum:
      return {z + x + y + rings, kSpectrumBins};
  }
  LINAC_CHECK(false);
  return {};
}

}  // namespace linac::physics
