#pragma once
// A sample of showers boiled down to what comparisons need, event by event, so that millions stream through: some 100
// bytes stay of each. Every event has weights: 1, Poisson(1) for each bootstrap replica, and 0 or 1 for random halves,
// which follow from (seed, lane, number of the event) alone. A Sample is filled by one thread; afterwards it is read by
// any.

#include <cstdint>
#include <span>
#include <vector>

#include "linac/base/base/range.h"
#include "linac/physics/physics/observables.h"

namespace linac::physics {

/// Part of a sample by primary energy and angle; -1: all.
struct Bin {
  int energy = -1, angle = -1;
  bool operator==(const Bin&) const = default;
};

enum class Profile { kDepth, kX, kY, kRadial, kSpectrum };

/// Edges of equal bins over the range; over a width of 1 where the range is a point.
std::vector<double> even_edges(const Range& range, int bins);

struct SampleOptions {
  std::vector<double> energy_edges, angle_edges;  // ascending; events beyond belong to the outermost bins
  int bootstraps = 0, halves = 0;
  uint64_t seed = 1;
  uint32_t lane = 0;             // differs between the samples that are compared
  int64_t shapes_max = 0;        // shape_vector() of the first so many events is kept, for nearest neighbours
  std::vector<Shower> wanted{};  // for each its nearest shower by energy and angle is kept whole, as an example
};

class Sample {
 public:
  Sample(const EventShape& shape, SampleOptions options);

  void add(const Shower& shower);

  int64_t events() const { return static_cast<int64_t>(energy_.size()); }
  const EventShape& shape() const { return shape_; }
  const SampleOptions& options() const { return options_; }
  std::span<const float> values(Observable observable) const { return values_[observable]; }
  std::span<const float> energies() const { return energy_; }
  std::span<const float> angles() const { return angle_; }
  std::vector<uint32_t> events_in(const Bin& bin) const;
  int energy_bins() const { return static_cast<int>(options_.energy_edges.size()) - 1; }
  int angle_bins() const { return static_cast<int>(options_.angle_edges.size()) - 1; }

  /// Replica 0 is the sample itself.
  int replicas() const { return 1 + options_.bootstraps + 2 * options_.halves; }
  int bootstrap(int i) const { return 1 + i; }
  int half(int i, bool other) const { return 1 + options_.bootstraps + 2 * i + (other ? 1 : 0); }
  float weight(size_t event, int replica) const {
    return weights_[event * static_cast<size_t>(replicas()) + static_cast<size_t>(replica)];
  }

  /// Mean of an event's profile divided by its primary energy, weighted by the replica's weights: the part of that
  /// energy in each layer, row of cells or ring; cells per GeV by their energy. (Undivided, the mean would follow the
  /// spectrum of the primaries.)
  std::vector<double> profile(Profile profile, int replica, const Bin& bin = {}) const;

  /// Structural similarity of successive showers of one bin of energy and angle.
  struct Pair {
    uint32_t event;  // the second: its weight counts
    float similarity;
  };
  const std::vector<Pair>& pairs() const { return pairs_; }

  const Projections& maps() const { return maps_; }                  // summed over all events
  const std::vector<float>& shapes() const { return shapes_; }       // [min(events, shapes_max)][length]
  const std::vector<Shower>& examples() const { return examples_; }  // as many as wanted (none without events)

 private:
  size_t cell_of(double energy, double angle) const;
  void add_weights(uint64_t event);
  void add_profiles(const Shower& shower, size_t event, size_t cell);
  void add_pair(const Shower& shower, uint32_t event, size_t cell);
  void keep_example(const Shower& shower);
  struct Part {
    size_t first, size;
  };
  Part part(Profile profile) const;

  EventShape shape_;
  SampleOptions options_;
  std::array<std::vector<float>, kObservables> values_;
  std::vector<float> energy_, angle_;
  std::vector<uint16_t> cell_;                    // of each event: energy bin x angle bin
  std::vector<uint8_t> weights_;                  // [event][replica]
  size_t profile_size_;                           // of all profiles of an event, one after the other
  std::vector<double> profile_sums_;              // [cell][replica][profile_size_]
  std::vector<double> weight_sums_;               // [cell][replica]
  std::vector<std::vector<float>> last_picture_;  // of each cell's last event
  std::vector<Pair> pairs_;
  Projections maps_;
  std::vector<float> shapes_;
  std::vector<Shower> examples_;
};

}  // namespace linac::physics
