#include "linac/train/train/record/account.h"

#include <unistd.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "linac/base/base/host.h"
#include "linac/io/storage/neighbours/range_share.h"
#include "linac/train/train/agreement.h"

namespace linac::train {
namespace {

std::optional<job::ToldReading> reading() {
  const auto share = storage::range_share();
  if (!share) return std::nullopt;
  const auto counts = share->counts();
  return job::ToldReading{.store_bytes = counts.from_stores,
                          .worker_bytes = counts.from_others,
                          .given_bytes = counts.to_others,
                          .failed = counts.failed + counts.damaged};
}

}  // namespace

job::WorkerAccount account_of(const PhaseClock& clock, const comm::Traffic& traffic, HostEnergy& energy) {
  job::WorkerAccount account;
  account.host = host_name();
  account.pid = getpid();
  for (const job::PhaseEntry& entry : job::kPhases) {
    const PhaseClock::Seconds& seconds = clock[entry.phase];
    account.phases[entry.phase] = {seconds.wall, seconds.cpu};
  }
  account.cpu_s = PhaseClock::now().cpu;
  account.sent_bytes = traffic.bytes;
  account.sent_messages = traffic.messages;
  account.exchange_s = traffic.seconds;
  account.steps = clock.steps().counted();
  account.energy = energy.told();
  account.reading = reading();
  return account;
}

void ToldAccount::tell(comm::Group& group, const PhaseClock& clock, HostEnergy& energy, double computed_s,
                       int64_t replicas) {
  if (replicas > 0) {
    const double now = computed_s / static_cast<double>(replicas);
    pace_s_ = pace_s_ == 0 ? now : 0.8 * pace_s_ + 0.2 * now;
  }
  constexpr auto kEvery = std::chrono::milliseconds(100);
  const auto now = std::chrono::steady_clock::now();
  if (text_.empty() || now - written_at_ >= kEvery) {
    written_at_ = now;
    text_ = job::to_text(account_of(clock, group.traffic(), energy));
  }
  group.tell(pace_s_, text_);
}

std::vector<job::WorkerAccount> gather_accounts(comm::Group& group, const job::WorkerAccount& mine) {
  std::vector<job::WorkerAccount> all;
  for (const std::string& text : texts_of_all(group, job::to_text(mine))) all.push_back(job::read_account(text));
  return all;
}

std::vector<job::WorkerAccount> accounts_of(const comm::Group& group) {
  std::vector<job::WorkerAccount> workers;
  const std::vector<comm::Activity> all = group.activities();
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].account.empty()) continue;
    workers.push_back(job::read_account(all[rank].account));
    workers.back().rank = static_cast<int64_t>(rank);
    workers.back().pace_s = all[rank].pace_s;
  }
  return workers;
}

}  // namespace linac::train
