#include "linac/model/graph/split/part_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "linac/base/base/error.h"

namespace linac::graph {

class PartHub::Link : public PartLink {
 public:
  Link(PartHub& hub, int part) : hub_(hub), part_(part) {}

  int part() const override { return part_; }
  int parts() const override { return static_cast<int>(hub_.ranks_.size()); }
  void exchange(std::span<const std::span<const float>> to, std::span<const std::span<float>> from) override {
    hub_.exchange(part_, to, from);
  }

 private:
  PartHub& hub_;
  const int part_;
};

PartHub::PartHub(std::vector<int> ranks, int rank, Carry carry)
    : ranks_(std::move(ranks)), rank_(rank), carry_(std::move(carry)), links_(ranks_.size()), calls_(ranks_.size()) {
  for (size_t part = 0; part < ranks_.size(); ++part) {
    if (ranks_[part] != rank_) continue;
    here_.push_back(static_cast<int>(part));
    links_[part] = std::make_unique<Link>(*this, static_cast<int>(part));
  }
  LINAC_CHECK(carry_ || here_.size() == ranks_.size());
}

PartHub::~PartHub() = default;

PartLink& PartHub::link(int part) {
  return *links_.at(static_cast<size_t>(part));
}

void PartHub::give_up(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (failure_ == nullptr)
    failure_ = std::make_exception_ptr(
        Error(ErrorCode::kPeerLost, fmt::format("[split] another part of the replica has ended: {}", why)));
  done_.notify_all();
}

void PartHub::begin_anew() {
  const std::lock_guard lock(mutex_);
  failure_ = nullptr;
  come_ = 0;
}

void PartHub::exchange(int part, std::span<const std::span<const float>> to, std::span<const std::span<float>> from) {
  LINAC_CHECK(to.size() == ranks_.size() && from.size() == ranks_.size());
  std::unique_lock lock(mutex_);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  calls_[static_cast<size_t>(part)] = {to, from};
  const int64_t mine = count_;
  if (++come_ == here_.size()) {
    try {
      bring_all();
    } catch (...) {
      failure_ = std::current_exception();
    }
    come_ = 0;
    ++count_;
    done_.notify_all();
  } else {
    done_.wait(lock, [&] { return count_ != mine || failure_ != nullptr; });
  }
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

void PartHub::bring_all() {
  for (const int from : here_) {
    for (const int to : here_) {
      const auto a = static_cast<size_t>(from), b = static_cast<size_t>(to);
      if (a == b) continue;
      const std::span<const float> sent = calls_[a].to[b];
      const std::span<float> got = calls_[b].from[a];
      LINAC_CHECK(sent.size() == got.size());
      std::ranges::copy(sent, got.begin());
    }
  }
  if (carry_) bring_from_afar();
}

// The messages between two processes are in the order of the sending part, then of the receiving one.
void PartHub::bring_from_afar() {
  std::map<int, std::vector<float>> out, in;  // by rank
  const auto is_far = [&](size_t part) { return ranks_[part] != rank_; };
  for (const int part : here_) {
    const Call& call = calls_[static_cast<size_t>(part)];
    for (size_t other = 0; other < ranks_.size(); ++other) {
      if (!is_far(other)) continue;
      std::vector<float>& message = out[ranks_[other]];
      message.insert(message.end(), call.to[other].begin(), call.to[other].end());
      std::vector<float>& came = in[ranks_[other]];
      came.resize(came.size() + call.from[other].size());
    }
  }
  std::vector<Outward> outward;
  std::vector<Inward> inward;
  for (const auto& [rank, message] : out)
    if (!message.empty()) outward.push_back({rank, std::as_bytes(std::span(message))});
  for (auto& [rank, message] : in)
    if (!message.empty()) inward.push_back({rank, std::as_writable_bytes(std::span(message))});
  if (!outward.empty() || !inward.empty()) carry_(outward, inward, count_);
  std::map<int, size_t> read;  // floats of each rank's message
  for (size_t other = 0; other < ranks_.size(); ++other) {
    if (!is_far(other)) continue;
    for (const int part : here_) {
      const std::span<float> got = calls_[static_cast<size_t>(part)].from[other];
      size_t& at = read[ranks_[other]];
      std::copy_n(in[ranks_[other]].begin() + static_cast<int64_t>(at), got.size(), got.begin());
      at += got.size();
    }
  }
}

}  // namespace linac::graph
