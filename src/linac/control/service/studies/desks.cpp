#include "linac/control/service/studies/desks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "linac/base/base/clock.h"
#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/refusal.h"
#include "linac/control/catalog/study_jobs.h"
#include "linac/control/http/server/awaited.h"
#include "linac/control/service/catalog_access.h"
#include "linac/control/service/ownership.h"
#include "linac/control/service/things.h"

namespace linac::service {

using nlohmann::json;

namespace {

constexpr int64_t kLinesAtOnce = 10000;

/// Names are given again: while the request waited for its turn, a study may have become another's.
void check_again(const Request& request, const catalog::StudyRecord& study) {
  if (study.user != request.caller.user && !viewer_of(request).all) throw not_there({kStudyThing, study.name});
}

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

void Desks::apply(OpenStudy& study, const StudyStep& step) {
  for (const std::string& line : step.lines) study.ledger.take(line);
  for (const catalog::StudyLease& lease : step.leases) study.leases[lease.trial] = lease;
  for (const int64_t trial : step.free) study.leases.erase(trial);
  if (!step.lines.empty()) study.record.updated_ms = now_ms();
  study.record.lines = study.ledger.lines();
  study.record.trials = static_cast<int64_t>(study.ledger.history().trials().size());
  study.record.told = static_cast<int64_t>(study.ledger.history().told().size());
}

void Desks::reload_record(OpenStudy& study) {
  study.record = context_.catalog.read_as(
      [&](catalog::Database& database) { return catalog::study(database, study.record.name); });
  study.ledger.set_study(study::parse_study(study.record.file, study.record.name, {}));
}

Task<void> Desks::write(const OpenStudy& study, const StudyStep& step, Request* request, std::shared_ptr<void>& turn) {
  const catalog::StudyRecord& record = study.record;
  const int64_t before = record.lines - static_cast<int64_t>(step.lines.size());
  catalog::Catalog::Work work = [number = record.number, trials = record.trials, told = record.told, before, &step,
                                 request](catalog::Database& database) {
    int64_t lines = before;
    catalog::check_study_lines(database, number, lines);
    for (const std::string& line : step.lines) catalog::append_study_line(database, number, ++lines, line);
    for (const catalog::StudyLease& lease : step.leases) catalog::set_study_lease(database, number, lease);
    for (const int64_t trial : step.free) catalog::remove_study_lease(database, number, trial);
    if (!step.lines.empty()) catalog::set_study_counts(database, number, trials, told);
    if (step.also) step.also(database);
    if (request == nullptr) return;
    request->noted = false;  // this may be the second time
    note_change(database, *request);
  };
  const std::shared_ptr<UnderWay> under_way = study.under_way;
  co_await http::awaited([&](http::Finish finish) {
    // Once the work is queued this coroutine may go on, and be gone, before write() returns.
    const std::shared_ptr<void> next = std::move(turn);
    ++under_way->writes;
    context_.catalog.write(
        std::move(work),
        [under_way, finish = std::move(finish)](std::exception_ptr error) {
          if (error) under_way->failed = true;
          --under_way->writes;
          finish(error);
        },
        study.record.user);
  });
}

json Desks::take_step(Desk& desk, const Request* request, const std::string& name, const Make& make,
                      const Answer& answer, StudyStep& step) {
  if (desk.study && desk.study->under_way->failed) {
    // What was queued behind the failure has failed, too.
    context_.catalog.write([](catalog::Database&) {}, desk.study->record.user);
    desk.study = nullptr;
  }
  load(desk, name);
  if (request != nullptr) check_again(*request, desk.study->record);
  step = make(*desk.study);
  try {
    apply(*desk.study, step);
    desk.lines = desk.study->ledger.lines();
    return step.again || step.also ? json() : answer(*desk.study);
  } catch (...) {
    if (!step.empty()) desk.study = nullptr;  // it has what nobody is going to write
    throw;
  }
}

Task<json> Desks::change(Request* request, const std::string& name, const Make& make, const Answer& answer) {
  const std::shared_ptr<Desk> desk = desk_of(name);
  std::shared_ptr<void> turn = co_await desk->turn.take();
  json said;
  StudyStep step;
  do {
    std::shared_ptr<void> thinking = co_await thinking_.take();
    co_await aside(context_, [&] { said = take_step(*desk, request, name, make, answer, step); });
    thinking.reset();
    // The answer to a step that changes nothing may rest on what is not committed yet.
    if (step.empty() && desk->study->under_way->writes == 0) break;
    std::shared_ptr<void> next = step.again || step.also ? nullptr : std::move(turn);
    co_await write(*desk->study, step, step.empty() ? nullptr : request, next);
    if (step.also)
      co_await aside(context_, [&] {
        reload_record(*desk->study);
        said = answer(*desk->study);
      });
  } while (step.again);
  co_return said;
}

Task<void> Desks::remove(Request& request, const std::string& name, bool force) {
  const std::shared_ptr<Desk> desk = desk_of(name);
  const std::shared_ptr<void> turn = co_await desk->turn.take();  // what came before is queued, and written first:
  const std::string who = desk->study ? desk->study->record.user : who_asks(request);
  co_await writing(
      context_,
      [&](catalog::Database& database) {
        request.noted = false;  // this may be the second time
        const catalog::StudyRecord record = catalog::study(database, name);
        check_again(request, record);
        const auto submitted = catalog::submitted_study(database, record.number);
        if ((submitted && submitted->state == catalog::StudyState::kRunning) ||
            !catalog::study_jobs_under_way(database, record.number).empty())
          throw Refusal(RefusalKind::kState,
                        fmt::format("[studies] the queue carries out '{0}'; end it by `linac study stop {0}`, and wait "
                                    "until its jobs have ended",
                                    name));
        const auto leases = catalog::study_leases(database, record.number);
        const int64_t now = now_ms();
        const auto held = std::ranges::count_if(leases, [now](const auto& lease) { return lease.until_ms > now; });
        if (held > 0 && !force)
          throw Refusal(
              RefusalKind::kState,
              fmt::format("[studies] programs have {} of '{}'; tell {}, wait until the leases run out, or delete "
                          "it with force",
                          plural(held, "trial"), name, held == 1 ? "it" : "them"));
        catalog::remove_study(database, record.number);
        note_change(database, request);
      },
      who);
  desk->study = nullptr;
  desk->lines = 0;
}

Task<json> Desks::look(const std::string& name, const Answer& answer) {
  const Make nothing = [](OpenStudy&) { return StudyStep{}; };
  json said = co_await change(nullptr, name, nothing, answer);
  co_return said;
}

}  // namespace linac::service
