#pragma once
// What tells a replica's contribution to an update from another one: a number for the gradient of each weight, one for
// the statistics, one for losses and flags, and one for the events that it was computed from. CRC-32C finds each error
// of up to 32 bits in a row, and all but one of four milliards of others. A value; one thread at a time.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linac/model/graph/parameters.h"
#include "linac/model/models/contribution.h"

namespace linac::train {

class ContributionDigest {
 public:
  /// `network`: that the contribution changes; borrowed.
  explicit ContributionDigest(const graph::Parameters& network) : network_(&network) {}

  /// The gradient of whole weights, as graph::GradientReady tells it. What is never told is 0.
  void add_gradient(int64_t offset, std::span<const float> values);
  /// The rest, once. `told`: its gradient was.
  void finish(const models::Contribution& contribution, bool told);

  /// After finish(), for all that it has: equal ones, equal contributions.
  uint64_t whole() const;
  /// The same to be compared by difference(): 8 characters a number.
  std::string text() const;

 private:
  uint32_t zeros(size_t count) const;

  const graph::Parameters* network_;
  std::vector<std::optional<uint32_t>> gradients_;  // by weight
  uint32_t statistics_ = 0, losses_ = 0, read_ = 0;
};

/// Where two texts of contributions to `network` begin to differ, in words: the events are read, a forward pass comes
/// to the losses and the statistics of the batch, then a backward pass to the weights from the last to the first.
/// Empty: nowhere.
std::string difference(const graph::Parameters& network, std::string_view one, std::string_view other);

}  // namespace linac::train
