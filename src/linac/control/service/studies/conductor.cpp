#include "linac/control/service/studies/conductor.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <nlohmann/json.hpp>

#include "linac/base/base/clock.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/refusal.h"
#include "linac/control/execution/news.h"
#include "linac/control/execution/record/run_places.h"
#include "linac/control/service/catalog_access.h"
#include "linac/control/service/studies/submission.h"
#include "linac/control/service/studies/trials.h"
#include "linac/control/service/user_secrets.h"

namespace linac::service {
namespace {

using catalog::Database;
using catalog::StudyEnding;
using catalog::StudyJob;
using catalog::StudyState;
using nlohmann::json;
using std::chrono::steady_clock;

const tune::Trial* running(const OpenStudy& open, int64_t trial) {
  const tune::Trial* const found = open.ledger.history().find(trial);
  return found != nullptr && found->state == tune::State::kRunning ? found : nullptr;
}

}  // namespace

/// A study as it was when it was looked at.
struct Conductor::Standing {
  std::string name;
  catalog::SubmittedStudy submitted{};
  study::Study study{};
  std::vector<tune::Trial> running{};
  std::map<int64_t, StudyJob> jobs{};  // of those, by trial
  int64_t failed_in_row = 0;           // the last ones that were told since it was submitted
  std::string last_failure{};
  bool known = false;  // it was submitted
  bool over = false;   // it does not run (any longer)
  bool told = false;   // all trials of its budget are

  int64_t number() const { return submitted.study.number; }
};

Conductor::Conductor(Context& context, Desks& desks, execution::Scheduler& scheduler, const DeclaredSites& sites)
    : context_(context), desks_(desks), scheduler_(scheduler), sites_(sites) {
  context_.hub.listen([this](const std::string& run) { heard(run); });
  for (const std::string& name :
       context_.catalog.read_as([](Database& database) { return catalog::submitted_studies(database); }))
    look(name);
}

void Conductor::stop() {
  context_.hub.listen(nullptr);
  std::unique_lock lock(mutex_);
  stopping_ = true;
  at_rest_.wait(lock, [&] { return busy_ == 0; });
}

void Conductor::look(const std::string& study) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Piece>& piece = pieces_[study];
  if (!piece) piece = std::make_shared<Piece>();
  begin(study, piece);
}

void Conductor::tick() {
  const std::lock_guard lock(mutex_);
  const auto now = steady_clock::now();
  for (const auto& [study, piece] : pieces_)
    if (!piece->busy && now - piece->looked > kLookEvery) begin(study, piece);
}

void Conductor::heard(const std::string& run) {
  std::string study;
  {
    const std::lock_guard lock(mutex_);
    const auto found = studies_.find(run);
    if (found == studies_.end()) return;
    study = found->second;
  }
  look(study);
}

void Conductor::follow(const std::string& run, const std::string& study) {
  const std::lock_guard lock(mutex_);
  studies_[run] = study;
}

void Conductor::begin(const std::string& study, const std::shared_ptr<Piece>& piece) {
  piece->again = true;
  if (piece->busy || stopping_) return;
  piece->busy = true;
  ++busy_;
  // Not at once: whoever looks has the mutex.
  boost::asio::post(context_.readers, [this, study, piece] {
    boost::asio::co_spawn(context_.readers, conduct(study, piece), boost::asio::detached);
  });
}

Task<void> Conductor::conduct(std::string study, std::shared_ptr<Piece> piece) {
  for (;;) {
    bool more = true;
    {
      const std::lock_guard lock(mutex_);
      piece->again = false;
    }
    try {
      more = co_await look_after(study, *piece);
    } catch (const Refusal& refusal) {
      more = refusal.kind() != RefusalKind::kNotFound;  // somebody has deleted it
      if (more) log::error(fmt::format("[studies] {}: {}", study, refusal.what()));
    } catch (const std::exception& error) {
      // The catalog cannot be written, most likely: it is looked at again.
      log::error(fmt::format("[studies] {}: {}", study, error.what()));
    }
    const std::lock_guard lock(mutex_);
    if (piece->again && !stopping_) continue;
    piece->busy = false;
    piece->looked = steady_clock::now();
    if (!more) {
      pieces_.erase(study);
      std::erase_if(studies_, [&](const auto& run) { return run.second == study; });
    }
    --busy_;
    at_rest_.notify_all();
    co_return;
  }
}

Task<bool> Conductor::look_after(const std::string& name, Piece& piece) {
  Standing standing{.name = name};
  co_await see(name, standing);
  if (!standing.known) co_return false;
  std::string fault;
  try {
    co_await piece.limits.open(context_, standing.submitted, standing.study);
  } catch (const Error& error) {  // somebody has damaged its file
    fault = error.what();
  }
  if (!fault.empty() && !standing.over) co_await fail(standing, fault);
  int64_t under_way = std::ranges::count_if(standing.jobs, [](const auto& job) { return job.second.under_way; });
  if (!standing.over) co_await count(standing, piece, under_way);  // before any goes on
  under_way = co_await look_after_jobs(standing, piece);
  if (!standing.over) co_await count(standing, piece, under_way);
  if (!standing.over) under_way = co_await begin_trials(standing, under_way);
  const std::string nothing;
  if (!standing.over && under_way == 0) co_await say(standing, StudyState::kDone, nothing);
  co_return under_way > 0;
}

Task<void> Conductor::see(const std::string& name, Standing& standing) {
  const Desks::Answer look = [&](const OpenStudy& open) {
    standing.submitted.study = open.record;
    standing.study = open.ledger.study();
    for (const tune::Trial& trial : open.ledger.history().trials())
      if (trial.state == tune::State::kRunning) standing.running.push_back(trial);
    standing.told = static_cast<int64_t>(open.ledger.history().told().size()) >= standing.study.settings.budget.trials;
    return json();
  };
  co_await desks_.look(name, look);
  co_await reading(context_, [&](Database& database) {
    auto submitted = catalog::submitted_study(database, standing.number());
    if (!submitted) return false;
    standing.submitted = std::move(*submitted);
    for (const tune::Trial& trial : standing.running)
      if (const auto job = catalog::study_job(database, standing.number(), trial.number))
        standing.jobs[trial.number] = *job;
    return true;
  });
  standing.known = !standing.submitted.wishes.empty();
  standing.over = standing.submitted.state != StudyState::kRunning;
  const Desks::Answer failures = [&](const OpenStudy& open) {
    const auto trials = open.ledger.history().trials();
    std::vector<std::pair<double, const tune::Trial*>> told;
    for (const tune::Trial& trial : trials)
      if (const double at = open.ledger.times_of(trial.number).told;
          trial.state != tune::State::kRunning && at * 1000 > static_cast<double>(standing.submitted.submitted_ms))
        told.emplace_back(at, &trial);
    std::sort(told.begin(), told.end());
    for (auto one = told.rbegin(); one != told.rend() && one->second->state == tune::State::kFailed; ++one)
      if (standing.failed_in_row++ == 0) standing.last_failure = one->second->reason;
    return json();
  };
  if (!standing.over) co_await desks_.look(name, failures);
}

Task<void> Conductor::count(Standing& standing, Piece& piece, int64_t under_way) {
  const auto running = std::ranges::count_if(
      standing.jobs, [](const auto& job) { return job.second.state == catalog::RunState::kRunning; });
  const std::string what = piece.limits.count(standing.name, static_cast<int>(running));
  if (what.empty() || (under_way == 0 && standing.told)) co_return;
  standing.over = true;
  const std::string why =
      fmt::format("{} is used up; with more of it in its file the study goes on when it is submitted again", what);
  const std::vector<std::string> runs = co_await writing(context_, [&](Database& database) {
    if (!catalog::set_study_state(database, standing.number(), standing.submitted.submitted_ms, StudyState::kStopped,
                                  why))
      return std::vector<std::string>();
    return stop_jobs(database, standing.number(), "its study has stopped: " + why);
  });
  changed(runs);
}

Task<int64_t> Conductor::look_after_jobs(Standing& standing, Piece& piece) {
  int64_t under_way = 0;
  for (const auto& [trial, job] : standing.jobs) {
    std::string refused;
    try {
      co_await hear(standing, job, piece);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUser) throw;
      refused = error.what();  // the training measures something else
    }
    if (!refused.empty() && !standing.over) co_await fail(standing, refused);
    if (job.under_way) {
      ++under_way;
      continue;
    }
    if (job.ending == StudyEnding::kStopped && job.state != catalog::RunState::kSucceeded) {
      if (standing.over) continue;  // until the study is submitted again
      if (co_await resume(standing, job) != Submitted::kNo) {
        ++under_way;
        continue;
      }
    }
    co_await finish(standing, job, piece);
  }
  co_return under_way;
}

Task<int64_t> Conductor::begin_trials(Standing& standing, int64_t under_way) {
  if (standing.failed_in_row >= kFailedInRowMax) {
    const std::string why = fmt::format("the last {} trials failed, the newest one by this: {}", standing.failed_in_row,
                                        standing.last_failure);
    co_await fail(standing, why);
    co_return under_way;
  }
  std::vector<tune::Trial> waiting;  // asked for by a service that was killed then, or held by a quota
  for (const tune::Trial& trial : standing.running)
    if (!standing.jobs.contains(trial.number)) waiting.push_back(trial);
  for (size_t next = 0; !standing.over && under_way < standing.study.settings.parallel; ++next) {
    std::optional<tune::Trial> trial;
    if (next < waiting.size())
      trial = waiting[next];
    else
      trial = co_await ask(standing);
    if (!trial) break;
    const Submitted submitted = co_await submit(standing, *trial);
    if (submitted != Submitted::kNo) ++under_way;
    if (submitted == Submitted::kWaits) break;
  }
  co_return under_way;
}

Task<void> Conductor::hear(const Standing& standing, const StudyJob& job, Piece& piece) {
  follow(job.run, standing.name);
  auto followed = piece.followed.find(job.trial);
  if (followed == piece.followed.end() || followed->second.run != job.run) {
    const execution::RunPlaces places(context_.host, context_.host.run(job.run));
    followed = piece.followed
                   .insert_or_assign(job.trial, Followed{job.run, study::TrialRecord(standing.study, places.outputs)})
                   .first;
  }
  const auto measured = followed->second.record.measured();
  piece.limits.note(job.trial, followed->second.record);
  tune::Verdict verdict;
  const Desks::Answer judge = [&](const OpenStudy& open) {
    const tune::Trial* const trial = running(open, job.trial);
    if (trial != nullptr && !trial->curve.empty() && !verdict.stop) verdict = open.ledger.verdict(job.trial);
    return json();
  };
  for (const study::Measured& one : measured) {
    const Desks::Make report = [&](OpenStudy& open) -> StudyStep {
      const tune::Trial* const trial = running(open, job.trial);
      if (trial == nullptr || !study::is_news(*trial, one) || open.ledger.lines() >= kStudyLinesMax) return {};
      return {.lines = {open.ledger.report(job.trial, one.step, one.value)}};
    };
    co_await desks_.change(nullptr, standing.name, report, judge);
  }
  // A service that was killed may have reported without judging.
  if (measured.empty() && !followed->second.judged) co_await desks_.look(standing.name, judge);
  followed->second.judged = true;
  if (verdict.stop && job.under_way && job.ending == StudyEnding::kNone && !standing.over)
    co_await prune(standing, job, verdict.reason);
}

Task<void> Conductor::prune(const Standing& standing, const StudyJob& job, const std::string& why) {
  const bool ended = co_await writing(context_, [&](Database& database) {
    return catalog::end_study_job(database, standing.number(), job, StudyEnding::kPruned, why);
  });
  if (ended) changed({job.run});
}

/// Jobs that the scheduler is to look at.
void Conductor::changed(const std::vector<std::string>& runs) {
  scheduler_.wake();
  for (const std::string& id : runs) {
    const catalog::Run run = context_.host.run(id);
    execution::publish_state(context_.hub, id, run.state, run.reason);
  }
}

Task<Conductor::Submitted> Conductor::resume(const Standing& standing, const StudyJob& job) {
  Submitted resumed = Submitted::kNo;
  try {
    co_await writing(context_,
                     [&](Database& database) { catalog::resume_study_job(database, standing.number(), job); });
    resumed = Submitted::kYes;
  } catch (const Refusal& refusal) {  // it has used up its time, say
    if (refusal.kind() == RefusalKind::kLimit)
      resumed = Submitted::kWaits;
    else
      log::info(fmt::format("[studies] {}: trial {} does not go on: {}", standing.name, job.trial, refusal.what()));
  }
  if (resumed == Submitted::kYes) changed({job.run});
  co_return resumed;
}

Task<bool> Conductor::tell(const Standing& standing, int64_t trial,
                           const std::function<std::optional<study::TrialEnd>(const study::Ledger&)>& end,
                           double cost) {
  bool told = true;
  const Desks::Make make = [&](OpenStudy& open) -> StudyStep {
    if (running(open, trial) == nullptr) return {};
    const auto said = end(open.ledger);
    told = said.has_value();
    if (!said) return {};
    return {.lines = {open.ledger.tell(trial, said->state, said->values, said->reason, cost)}};
  };
  const Desks::Answer nothing = [](const OpenStudy&) { return json(); };
  co_await desks_.change(nullptr, standing.name, make, nothing);
  co_return told;
}

Task<void> Conductor::finish(Standing& standing, const StudyJob& job, Piece& piece) {
  using catalog::RunState;
  const study::TrialRecord record = piece.followed.at(job.trial).record;
  study::Mishap mishap = study::Mishap::kLost;
  if (job.state == RunState::kFailedPrechecks) mishap = study::Mishap::kRefused;
  if (job.state == RunState::kFailed)
    mishap = study::mishap_of(record.exit_status().value_or(static_cast<int>(ErrorCode::kEnvironment)));
  const std::string why = job.reason.empty() ? "its job was cancelled" : job.reason;
  const std::function<std::optional<study::TrialEnd>(const study::Ledger&)> end =
      [&](const study::Ledger& ledger) -> std::optional<study::TrialEnd> {
    if (job.state == RunState::kSucceeded) {
      std::vector<double> values;
      if (ledger.history().objectives() > 1) values = record.values_of_epoch();
      return study::end_well(ledger, job.trial, std::move(values));
    }
    if (job.ending == StudyEnding::kPruned) return study::TrialEnd{tune::State::kPruned, {}, job.why};
    return study::end_badly(ledger, mishap, why);
  };
  if (!co_await tell(standing, job.trial, end, record.cost())) {
    const std::string fault = fmt::format("trial {} cannot run: {} (run {})", job.trial, why, job.run);
    co_await fail(standing, fault, job.trial);
  }
  piece.followed.erase(job.trial);
  const std::lock_guard lock(mutex_);
  studies_.erase(job.run);
}

Task<std::optional<tune::Trial>> Conductor::ask(const Standing& standing) {
  int64_t number = 0;
  std::optional<tune::Trial> trial;
  const Desks::Make make = [&](OpenStudy& open) -> StudyStep {
    number = 0;
    const study::Ledger& ledger = open.ledger;
    // Trials that failed take no place of the budget, and yet there is an end to them.
    if (study::time_is_over(ledger, static_cast<double>(now_ms()) / 1000) || ledger.lines() >= kStudyLinesMax ||
        static_cast<int64_t>(ledger.history().trials().size()) >= 2 * kStudyTrialsMax)
      return {};
    const auto asked = open.ledger.ask();
    if (!asked) return {};
    number = asked->trial;
    return {.lines = {asked->line}, .asked = 1};
  };
  const Desks::Answer take = [&](const OpenStudy& open) {
    if (number != 0) trial = *open.ledger.history().find(number);
    return json();
  };
  co_await desks_.change(nullptr, standing.name, make, take);
  co_return trial;
}

Task<Conductor::Submitted> Conductor::submit(Standing& standing, const tune::Trial& trial) {
  struct Prepared {
    execution::SubmissionRequest request;
    std::vector<execution::PreparedJob> jobs;
    std::string refused;  // the point: its job is none
  };
  const auto prepared = std::make_shared<Prepared>();
  const catalog::StudyRecord& record = standing.submitted.study;
  const StudyWishes wishes = StudyWishes::of_text(standing.submitted.wishes);
  std::string fault, waits;  // of the study, and for now
  const auto take = [&](const Refusal& refusal) {
    (refusal.kind() == RefusalKind::kLimit ? waits : fault) = refusal.what();
  };
  try {
    co_await reading(context_, [&](Database& database) {
      check_owner(database, scheduler_, sites_, record.user, wishes);
      prepared->request =
          trial_request(database, scheduler_, context_.data.string(), record, standing.study, wishes, trial);
      return true;
    });
    const std::function<void()> work = [prepared, all = scheduler_.all(wishes.wishes.place),
                                        price_known = scheduler_.attempts().prices.known()] {
      try {
        prepared->jobs = execution::prepare(prepared->request, all, price_known);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kUser && error.code() != ErrorCode::kData) throw;
        prepared->refused = error.what();
      }
    };
    co_await context_.checks.run(record.user, work);
  } catch (const Refusal& refusal) {
    take(refusal);
  }
  const std::string refused = fault.empty() && waits.empty() ? prepared->refused : "";
  if (!refused.empty()) {
    const std::function<std::optional<study::TrialEnd>(const study::Ledger&)> end = [&](const study::Ledger& ledger) {
      return study::end_badly(ledger, study::Mishap::kRefused, refused);
    };
    if (co_await tell(standing, trial.number, end)) co_return Submitted::kNo;
    fault = fmt::format("trial {} cannot run: {}", trial.number, refused);
  }
  std::string run;
  if (fault.empty() && waits.empty()) {
    execution::PreparedJob& job = prepared->jobs.front();
    fault = job.problem;
    job.run.tags["linac.study"] = record.name;
    job.run.tags["linac.trial"] = std::to_string(trial.number);
  }
  if (fault.empty() && waits.empty()) {
    const execution::PreparedJob& job = prepared->jobs.front();
    try {
      run = co_await writing(context_, [&](Database& database) -> std::string {
        const auto now = catalog::submitted_study(database, record.number);
        if (!now || now->state != StudyState::kRunning || now->submitted_ms != standing.submitted.submitted_ms)
          return "";
        if (const auto there = catalog::study_job(database, record.number, trial.number)) return there->run;
        if (const std::string why = why_no_secrets(database, record.user, job.secrets); !why.empty())
          throw Refusal(RefusalKind::kState, why);
        const std::string key = trial_key(standing.submitted, trial.number);
        const std::string id = catalog::submit(database, job.run, job.job, job.wishes, key);
        catalog::add_study_job(database, record.number, trial.number, id);
        return id;
      });
    } catch (const Refusal& refusal) {
      take(refusal);
    }
  }
  if (!fault.empty()) {
    co_await fail(standing, fault);
    co_return Submitted::kNo;
  }
  if (waits != standing.submitted.reason) co_await say(standing, StudyState::kRunning, waits);
  if (!waits.empty()) co_return Submitted::kWaits;
  if (run.empty()) {  // it was stopped or submitted again meanwhile
    standing.over = true;
    co_return Submitted::kNo;
  }
  follow(run, standing.name);
  scheduler_.wake();
  co_return Submitted::kYes;
}

Task<void> Conductor::fail(Standing& standing, const std::string& why, int64_t trial) {
  standing.over = true;
  const std::vector<std::string> runs = co_await writing(context_, [&](Database& database) {
    if (!catalog::set_study_state(database, standing.number(), standing.submitted.submitted_ms, StudyState::kFailed,
                                  why))
      return std::vector<std::string>();
    if (trial != 0) catalog::forget_study_job(database, standing.number(), trial);
    return stop_jobs(database, standing.number(), "its study has ended: " + why);
  });
  log::warn(fmt::format("[studies] {}: {}", standing.name, why));
  changed(runs);
}

Task<void> Conductor::say(const Standing& standing, StudyState state, const std::string& reason) {
  co_await writing(context_, [&](Database& database) {
    return catalog::set_study_state(database, standing.number(), standing.submitted.submitted_ms, state, reason);
  });
}

}  // namespace linac::service
