#include "linac/train/train/audit/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "linac/base/base/crc32c.h"
#include "linac/base/base/error.h"
#include "linac/base/base/fnv1a.h"

namespace linac::train {
namespace {

constexpr size_t kDigits = 8;
// Of the numbers in front of those of the gradients, in the order in which a replica comes to them.
constexpr const char* kFirst[] = {"the events that were read", "the losses", "the statistics of the batch"};

uint32_t digest_of(std::span<const float> values) {
  return crc32c(std::as_bytes(values));
}

}  // namespace

void ContributionDigest::add_gradient(int64_t offset, std::span<const float> values) {
  const auto& slots = network_->trainable_layout.slots;
  gradients_.resize(slots.size());
  const auto end = offset + static_cast<int64_t>(values.size());
  auto slot = std::ranges::lower_bound(slots, offset, {}, &graph::Slot::offset);
  for (; slot != slots.end() && slot->offset + slot->size <= end; ++slot) {
    gradients_[static_cast<size_t>(slot - slots.begin())] =
        digest_of(values.subspan(static_cast<size_t>(slot->offset - offset), static_cast<size_t>(slot->size)));
  }
}

void ContributionDigest::finish(const models::Contribution& contribution, bool told) {
  if (!told) add_gradient(0, contribution.gradient);
  gradients_.resize(network_->trainable_layout.slots.size());
  statistics_ = digest_of(contribution.statistics);
  std::vector<float> losses = contribution.losses;
  losses.push_back(contribution.all_empty ? 1 : 0);
  losses.push_back(contribution.finite ? 1 : 0);
  losses_ = digest_of(losses);
  read_ = contribution.read;
}

uint32_t ContributionDigest::zeros(size_t count) const {
  return digest_of(std::vector<float>(count));
}

std::string ContributionDigest::text() const {
  std::string text = fmt::format("{:08x}{:08x}{:08x}", read_, losses_, statistics_);
  const auto& slots = network_->trainable_layout.slots;
  LINAC_CHECK(gradients_.size() == slots.size());
  for (size_t i = 0; i < slots.size(); ++i)
    text += fmt::format("{:08x}", gradients_[i] ? *gradients_[i] : zeros(static_cast<size_t>(slots[i].size)));
  return text;
}

uint64_t ContributionDigest::whole() const {
  return fnv1a_64(text());
}

std::string difference(const graph::Parameters& network, std::string_view one, std::string_view other) {
  const auto& slots = network.trainable_layout.slots;
  constexpr size_t kFirsts = std::size(kFirst);
  if (one.size() != other.size() || one.size() != kDigits * (kFirsts + slots.size()))
    return "something else altogether";
  const auto differs = [&](size_t i) { return one.substr(kDigits * i, kDigits) != other.substr(kDigits * i, kDigits); };
  std::string first;
  for (size_t i = 0; i < kFirsts && first.empty(); ++i)
    if (differs(i)) first = kFirst[i];
  size_t weights = 0;
  for (size_t i = slots.size(); i-- > 0;) {
    if (!differs(kFirsts + i)) continue;
    ++weights;
    if (first.empty()) first = fmt::format("the gradient of '{}'", slots[i].name);
  }
  return first.empty() ? "" : fmt::format("from {} on, in {} of {} gradients", first, weights, slots.size());
}

}  // namespace linac::train
