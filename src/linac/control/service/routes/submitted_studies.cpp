// Studies that the queue carries out, over HTTP: submitted and stopped. What becomes of them says studies/conductor.h;
// they are shown like all studies (studies.cpp).

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"
#include "linac/control/execution/news.h"
#include "linac/control/execution/scheduler.h"
#include "linac/control/http/files/disk_room.h"
#include "linac/control/service/catalog_access.h"
#include "linac/control/service/declared_sites.h"
#include "linac/control/service/job_wishes.h"
#include "linac/control/service/named_experiment.h"
#include "linac/control/service/ownership.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/studies/conductor.h"
#include "linac/control/service/studies/submission.h"
#include "linac/control/service/things.h"
#include "linac/control/service/user_secrets.h"

namespace linac::service {
namespace {

using catalog::Database;
using nlohmann::json;

constexpr size_t kStudyBytesMax = 1 << 20, kReasonMax = 2000;

std::vector<FieldRule> submission_fields() {
  std::vector<FieldRule> fields = {
      {"study", FieldType::kText, true, "the study file's text: a job, and what is searched around it"},
      {"experiment", FieldType::kText, false, "of its runs, by its name; made if there is none; else Default"},
      {"check_only", FieldType::kBoolean, false, "queue nothing"}};
  fields.insert(fields.end(), job_text_fields().begin(), job_text_fields().end());
  fields.insert(fields.end(), wish_fields().begin(), wish_fields().end());
  return fields;
}

execution::SubmissionRequest file_of(const Request& request, const StudyWishes& wishes, const std::string& hidden) {
  execution::SubmissionRequest file;
  file.job = request.text("study");
  file.file = request.text("file", "the study");
  file.folder = request.text("folder");
  file.directory = wishes.directory;
  file.overrides = request.texts("set");
  file.user = request.caller.user;
  file.account = request.caller.account;
  if (!wishes.by_admin) file.hidden = hidden;
  file.wishes = wishes.wishes;
  return file;
}

/// The study with its job checked; kInvalid for one that would fail.
Task<std::shared_ptr<SubmittedFile>> checked(Context& context, execution::Scheduler& scheduler,
                                             const DeclaredSites& sites, const Request& request,
                                             const StudyWishes& wishes) {
  struct Checked {
    execution::SubmissionRequest request;
    SubmittedFile file;
  };
  const auto all = std::make_shared<Checked>();
  all->request = file_of(request, wishes, context.data.string());
  sites.check(wishes.wishes.place, request.caller);
  if (wishes.wishes.place == catalog::kOwnHost)
    co_await aside(context, [&] { need_trust(context, scheduler.attempts(), request.caller.user); });
  const std::function<void()> work = [all, room = scheduler.all(wishes.wishes.place),
                                      price_known = scheduler.attempts().prices.known(),
                                      site = sites.find(wishes.wishes.place)] {
    all->file = prepare_study(all->request, room, price_known, site.get());
  };
  co_await context.checks.run(request.caller.user, work);
  std::string problem = all->file.problem;
  if (problem.empty())
    problem = co_await reading(
        context, [&](Database& database) { return why_no_secrets(database, request.caller.user, all->file.secrets); });
  if (!problem.empty()) throw Refusal(RefusalKind::kInvalid, problem);
  co_return std::shared_ptr<SubmittedFile>(all, &all->file);
}

/// The same study goes on, with another job, budget and wishes if it says so.
StudyStep goes_on(const OpenStudy& open, const study::Study& study, const std::string& wishes) {
  if (open.ledger.study().job.empty())
    throw Refusal(RefusalKind::kExists,
                  fmt::format("[studies] programs ask and tell '{}', and the queue does not; choose another name",
                              open.record.name));
  if (open.ledger.study().identity() != study.identity())
    throw Refusal(RefusalKind::kExists,
                  fmt::format("[studies] there is another study '{}'; what is searched, the objective, sampler, pruner "
                              "and seed of one do not change: choose another name",
                              open.record.name));
  return {.also = [file = study.to_yaml(), wishes, number = open.record.number](Database& database) {
    catalog::set_study_file(database, number, file);
    catalog::submit_study(database, number, wishes);
  }};
}

json answer_of(Database& database, const std::string& name) {
  const catalog::StudyRecord record = catalog::study(database, name);
  return {{"name", record.name},     {"user", record.user}, {"experiment_id", std::to_string(record.experiment)},
          {"trials", record.trials}, {"told", record.told}, {"queue", submitted_words(database, record.number)}};
}

Handler submits(Context& context, Desks& desks, Conductor& conductor, execution::Scheduler& scheduler,
                const DeclaredSites& sites) {
  return [&context, &desks, &conductor, &scheduler, &sites](Request& request) -> Task<Response> {
    http::check_room(context.data, kStudyBytesMax, context.keep_free);
    const std::string name = request.variable("study");
    catalog::check_study_name(name);
    const StudyWishes wishes{wishes_of(request), request.text("directory"), request.caller.access == Access::kAdmin};
    const auto file = co_await checked(context, scheduler, sites, request, wishes);
    const std::string text = wishes.text();
    const catalog::Viewer viewer = viewer_of(request);
    const auto there = co_await reading(context, [&](Database& database) {
      catalog::refuse_hidden_study_name(database, viewer, name);
      return catalog::find_study(database, name);
    });
    // Its trials are its owner's jobs: an admin does not make them his, either.
    if (there && there->user != request.caller.user)
      throw Refusal(RefusalKind::kExists,
                    fmt::format("[studies] '{}' is a study of {}; choose another name", name, there->user));
    const Desks::Answer nothing = [](const OpenStudy&) { return json(); };
    if (request.flag("check_only")) {
      request.noted = true;  // nothing has changed
      const Desks::Make check = [&](OpenStudy& open) {
        goes_on(open, file->study, text);
        return StudyStep{};
      };
      if (there) co_await desks.change(nullptr, name, check, nothing);
      co_return Response::json({{"name", name}});
    }
    request.things = {{kStudyThing, name}};
    if (there) {
      const Desks::Make make = [&](OpenStudy& open) { return goes_on(open, file->study, text); };
      co_await desks.change(&request, name, make, nothing);
    } else {
      co_await writing(
          context,
          [&](Database& database) {
            request.noted = false;
            catalog::StudyRecord record;
            record.name = name, record.user = request.caller.user, record.file = file->study.to_yaml();
            record.experiment = named_experiment(database, viewer, request.text("experiment"), context.visibility);
            const int64_t number = catalog::create_study(database, record, study::Ledger::first_line(file->study));
            catalog::submit_study(database, number, text);
            note_change(database, request);
          },
          who_asks(request));
    }
    conductor.look(name);
    const json words = co_await reading(context, [&](Database& database) { return answer_of(database, name); });
    co_return Response::json(words);
  };
}

Handler stops(Context& context, Conductor& conductor, execution::Scheduler& scheduler) {
  return [&context, &conductor, &scheduler](Request& request) -> Task<Response> {
    const std::string name = request.variable("study");
    const std::string reason = request.text("reason", fmt::format("stopped by {}", request.caller.user));
    if (reason.size() > kReasonMax)
      throw Refusal(RefusalKind::kInvalid, fmt::format("[studies] a reason has {} bytes at most", kReasonMax));
    const std::vector<std::string> runs = co_await writing(context, [&](Database& database) {
      request.noted = false;
      const int64_t number = catalog::study(database, name).number;
      const auto submitted = catalog::submitted_study(database, number);
      if (!submitted ||
          !catalog::set_study_state(database, number, submitted->submitted_ms, catalog::StudyState::kStopped, reason))
        throw Refusal(RefusalKind::kState,
                      submitted ? fmt::format("[studies] the queue does not carry out '{}' any longer: it is {}", name,
                                              catalog::to_string(submitted->state))
                                : fmt::format("[studies] programs ask and tell '{}', and end when they do", name));
      auto stopped = stop_jobs(database, number, fmt::format("the study '{}' was stopped: {}", name, reason));
      note_change(database, request);
      return stopped;
    });
    scheduler.wake();
    for (const std::string& id : runs) {
      const catalog::Run run =
          co_await reading(context, [&](Database& database) { return catalog::run(database, id); });
      execution::publish_state(context.hub, id, run.state, run.reason);
    }
    conductor.look(name);
    const json words = co_await reading(context, [&](Database& database) { return answer_of(database, name); });
    co_return Response::json(words);
  };
}

}  // namespace

std::vector<Route> submitted_study_routes(Context& context, Desks& desks, Conductor& conductor,
                                          execution::Scheduler& scheduler, const DeclaredSites& sites) {
  return {
      changing(Changes::made(),
               {Method::kPost, "/api/v1/studies/{study}/submit", "submit_study",
                "Has the queue carry out a study with its job: trials are asked for, submitted, pruned and told; one "
                "that was stopped, or has a larger budget, goes on",
                Access::kMember, BodyKind::kJson, submission_fields(),
                submits(context, desks, conductor, scheduler, sites), kStudyBytesMax * 2},
               Reads::found()),
      changing(Changes::of(by_variable(kStudyThing, "study")),
               {Method::kPost,
                "/api/v1/studies/{study}/stop",
                "stop_study",
                "The queue ends a study: its trials write checkpoints and stop, no other one begins; submitted again "
                "it goes on with them",
                Access::kMember,
                BodyKind::kJson,
                {{"reason", FieldType::kText, false, "in words"}},
                stops(context, conductor, scheduler)}),
  };
}

}  // namespace linac::service
