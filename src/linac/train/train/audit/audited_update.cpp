#include "linac/train/train/audit/audited_update.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "linac/base/base/crc32c.h"
#include "linac/base/base/error.h"
#include "linac/base/base/fnv1a.h"
#include "linac/base/base/trace.h"
#include "linac/train/train/agreement.h"

namespace linac::train {
namespace {

// One would do: a worker that errs in many has the others redone, and the step is audited again.
constexpr size_t kDisputesMax = 4;

}  // namespace

AuditedUpdate::AuditedUpdate(comm::Group& group, const graph::Parameters& network, const std::vector<int>& owned,
                             const std::optional<std::vector<int>>& auditors, const AnyReplica& again)
    : group_(group), network_(network), owned_(owned), again_(again), is_due_(auditors.has_value()) {
  if (!is_due_) return;
  for (size_t replica = 0; replica < auditors->size(); ++replica)
    if ((*auditors)[replica] == group.rank()) mine_.push_back(static_cast<int>(replica));
  firsts_.resize(owned.size());
  seconds_.resize(mine_.size());
  open_ = mine_.size();
}

ReplicaFunction AuditedUpdate::watched(const ReplicaFunction& compute) {
  if (!is_due_) return compute;
  return [this, compute](size_t index, const graph::GradientReady& ready) {
    ContributionDigest digest(network_);
    bool told = false;
    const graph::GradientReady noting = [&](int64_t offset, std::span<const float> values) {
      told = true;
      digest.add_gradient(offset, values);
      ready(offset, values);
    };
    models::Contribution made = compute(index, noting);
    digest.finish(made, told);
    firsts_[index] = digest.text();
    return made;
  };
}

std::string AuditedUpdate::computed(int replica) const {
  const trace::Span span("audited replica", replica);
  ContributionDigest digest(network_);
  digest.finish(again_(replica), false);
  return digest.text();
}

SideWork AuditedUpdate::beside(const SideWork& side) {
  if (mine_.empty()) return side;
  SideWork all = side;
  all.tasks += mine_.size();
  all.run = [this, run = side.run](size_t task) {
    if (task >= mine_.size()) return run(task - mine_.size());
    std::exception_ptr failure;
    try {
      if (!given_up_) seconds_[task] = computed(mine_[task]);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    --open_;
    if (failure) failure_ = failure;
    done_.notify_all();
  };
  return all;
}

void AuditedUpdate::wait_for_seconds() {
  std::unique_lock lock(mutex_);
  for (size_t last = mine_.size(); open_ > 0;) {
    group_.mark("audit, replicas left", static_cast<int>(open_));
    done_.wait(lock, [&] { return open_ < last; });
    last = open_;
  }
  if (failure_) std::rethrow_exception(failure_);
}

bool AuditedUpdate::is_disputed(std::span<const float> sum) {
  if (!is_due_) return false;
  wait_for_seconds();
  nlohmann::json told = nlohmann::json::array();
  for (size_t i = 0; i < owned_.size(); ++i) told.push_back({owned_[i], fnv1a_64(firsts_[i])});
  for (size_t i = 0; i < mine_.size(); ++i) told.push_back({mine_[i], fnv1a_64(seconds_[i])});
  std::map<int, uint64_t> digests;
  const nlohmann::json mine{{"replicas", told}, {"sum", crc32c(std::as_bytes(sum))}};
  const std::vector<std::string> all = texts_of_all(group_, mine.dump());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const auto said = nlohmann::json::parse(all[rank]);
    sums_.push_back({static_cast<int>(rank), said.at("sum")});
    for (const auto& one : said.at("replicas")) {
      const int replica = one.at(0);
      const uint64_t digest = one.at(1);
      const bool differs = digests.try_emplace(replica, digest).first->second != digest;
      if (differs) disputed_.push_back(replica);
    }
  }
  std::ranges::sort(disputed_);
  if (disputed_.size() > kDisputesMax) disputed_.resize(kDisputesMax);
  const Verdict of_sum = judge(sums_);
  return !disputed_.empty() || !of_sum.wrong.empty() || !of_sum.suspects.empty();
}

// Adds what all have computed of the disputed replicas, rank by rank.
void AuditedUpdate::share(const Computed& mine) {
  const std::vector<std::string> all = texts_of_all(group_, nlohmann::json(mine).dump());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    for (const auto& one : nlohmann::json::parse(all[rank])) {
      const int replica = one.at(0);
      std::string text = one.at(1);
      const uint64_t digest = fnv1a_64(text);
      sayings_[replica].push_back({static_cast<int>(rank), digest});
      texts_[replica].emplace(digest, std::move(text));
    }
  }
}

AuditFinding AuditedUpdate::decide(ReplicaCompute& compute) {
  Computed told;
  const auto is_disputed = [&](int replica) { return std::ranges::binary_search(disputed_, replica); };
  for (size_t i = 0; i < owned_.size(); ++i)
    if (is_disputed(owned_[i])) told.emplace_back(owned_[i], firsts_[i]);
  for (size_t i = 0; i < mine_.size(); ++i)
    if (is_disputed(mine_[i])) told.emplace_back(mine_[i], seconds_[i]);
  for (bool goes_on = !disputed_.empty(); goes_on;) {
    share(told);
    told.clear();
    goes_on = false;
    for (const int replica : disputed_) {
      const std::vector<int> ranks = next_witnesses(sayings_.at(replica), group_.size());
      goes_on = goes_on || !ranks.empty();
      if (std::ranges::find(ranks, group_.rank()) != ranks.end()) told.emplace_back(replica, "");
    }
    compute.run(told.size(), [&](size_t i) {
      group_.mark("audit, replica", told[i].first);
      told[i].second = computed(told[i].first);
    });
  }
  AuditFinding finding = this->finding();
  try {
    // Who leaves interrupts those that have not heard yet: nobody does before all have.
    group_.barrier();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPeerLost) throw;  // the first to leave knew that all have
  }
  return finding;
}

AuditFinding AuditedUpdate::finding() const {
  std::set<int> wrong, suspects;
  AuditFinding finding;
  if (disputed_.empty()) {  // of wrong replicas the sum is another one anyway
    const Verdict verdict = judge(sums_);
    return {.wrong = verdict.wrong,
            .suspects = verdict.suspects,
            .what = "the sum over the replicas differs, as it came to the workers"};
  }
  for (const auto& [replica, sayings] : sayings_) {
    const Verdict verdict = judge(sayings);
    wrong.insert(verdict.wrong.begin(), verdict.wrong.end());
    suspects.insert(verdict.suspects.begin(), verdict.suspects.end());
    if (!finding.what.empty()) continue;
    std::vector<int> ranks;
    for (const Saying& one : sayings) ranks.push_back(one.rank);
    const auto& texts = texts_.at(replica);
    finding.what = fmt::format("replica {} (computed by ranks {}) differs {}", replica, fmt::join(ranks, ", "),
                               difference(network_, texts.begin()->second, texts.rbegin()->second));
  }
  for (const int rank : wrong) suspects.erase(rank);
  if (suspects.size() == 1) suspects.clear();  // what differs from its word was said by others that err
  finding.wrong.assign(wrong.begin(), wrong.end());
  finding.suspects.assign(suspects.begin(), suspects.end());
  return finding;
}

}  // namespace linac::train
