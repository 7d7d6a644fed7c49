#include "linac/service/studies/desks.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linac/base/clock.h"
#include "linac/base/error.h"
#include "linac/service/catalog_access.h"
#include "linac/service/ownership.h"

namespace linac::service {

using nlohmann::json;

namespace {

constexpr int64_t kLinesAtOnce = 10000;

}  // namespace

std::shared_ptr<Desks::Desk> Desks::desk_of(const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Desk>& desk = desks_[name];
  if (!desk) desk = std::make_shared<Desk>();
  desk->used = ++uses_;
  const std::shared_ptr<Desk> found = desk;
  make_room();
  return found;
}

/// Those that were used least lately go, but for those that somebody has.
void Desks::make_room() {
  const auto too_much = [&] {
    int64_t lines = 0;
    for (const auto& [name, desk] : desks_) lines += desk->lines;
    return desks_.size() > kOpenMax || lines > kOpenLinesMax;
  };
  while (too_much()) {
    auto oldest = desks_.end();
    for (auto one = desks_.begin(); one != desks_.end(); ++one)
      if (one->second.use_count() == 1 && (oldest == desks_.end() || one->second->used < oldest->second->used))
        oldest = one;
    if (oldest == desks_.end()) return;
    desks_.erase(oldest);
  }
}

void Desks::load(Desk& desk, const std::string& name) {
  if (desk.study) return;
  desk.study = context_.catalog.read_as([&](catalog::Database& database) {
    catalog::StudyRecord record = catalog::study(database, name);
    study::Ledger ledger(study::parse_study(record.file, name, {}), "study " + name);
    while (ledger.lines() < record.lines) {
      const auto lines = catalog::study_lines(database, record.number, ledger.lines(), kLinesAtOnce);
      if (lines.empty()) throw data_error(fmt::format("[studies] {}: lines of it are missing in the catalog", name));
      for (const std::string& line : lines) ledger.take(line);
    }
    auto open = std::make_unique<OpenStudy>(OpenStudy{std::move(record), std::move(ledger), {}, {}});
    for (const catalog::StudyLease& lease : catalog::study_leases(database, open->record.number))
      open->leases[lease.trial] = lease;
    return open;
  });
  desk.lines = desk.study->ledger.lines();
}

void Desks::put_down(catalog::Database& database, const OpenStudy& study, const StudyStep& step, Request* request) {
  const int64_t number = study.record.number;
  int64_t lines = study.ledger.lines();
  for (const std::string& line : step.lines) catalog::append_study_line(database, number, ++lines, line);
  for (const catalog::StudyLease& lease : step.leases) catalog::set_study_lease(database, number, lease);
  for (const int64_t trial : step.free) catalog::remove_study_lease(database, number, trial);
  const tune::History& history = study.ledger.history();
  if (!step.lines.empty())
    catalog::set_study_counts(database, number, static_cast<int64_t>(history.trials().size()) + step.asked,
                              static_cast<int64_t>(history.told().size() + step.free.size()));
  if (step.also) step.also(database);
  if (request == nullptr) return;
  request->noted = false;  // this may be the second time
  note_change(database, *request);
}

void Desks::apply(OpenStudy& study, const StudyStep& step) {
  for (const std::string& line : step.lines) study.ledger.take(line);
  for (const catalog::StudyLease& lease : step.leases) study.leases[lease.trial] = lease;
  for (const int64_t trial : step.free) study.leases.erase(trial);
  if (!step.lines.empty()) study.record.updated_ms = now_ms();
  study.record.lines = study.ledger.lines();
  study.record.trials = static_cast<int64_t>(study.ledger.history().trials().size());
  study.record.told = static_cast<int64_t>(study.ledger.history().told().size());
  if (!step.also) return;
  study.record = context_.catalog.read_as(
      [&](catalog::Database& database) { return catalog::study(database, study.record.name); });
  study.ledger.set_study(study::parse_study(study.record.file, study.record.name, {}));
}

Task<json> Desks::change(Request* request, const std::string& name, const Make& make, const Answer& answer) {
  const std::shared_ptr<Desk> desk = desk_of(name);
  const std::shared_ptr<void> turn = co_await desk->turn.take();
  json said;
  StudyStep step;
  do {
    std::shared_ptr<void> thinking = co_await thinking_.take();
    co_await aside(context_, [&] {
      load(*desk, name);
      step = make(*desk->study);
      if (step.empty()) said = answer(*desk->study);
    });
    thinking.reset();
    if (step.empty()) break;
    // Whatever becomes of the write: until that is known, what is in memory is not what counts.
    std::unique_ptr<OpenStudy> study = std::move(desk->study);
    co_await write_catalog(context_, [&](catalog::Database& database) { put_down(database, *study, step, request); });
    co_await aside(context_, [&] {
      apply(*study, step);
      if (!step.again) said = answer(*study);
    });
    desk->lines = study->ledger.lines();
    desk->study = std::move(study);
  } while (step.again);
  co_return said;
}

Task<json> Desks::look(const std::string& name, const Answer& answer) {
  const Make nothing = [](OpenStudy&) { return StudyStep{}; };
  json said = co_await change(nullptr, name, nothing, answer);
  co_return said;
}

}  // namespace linac::service
