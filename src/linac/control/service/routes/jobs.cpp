#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "linac/base/base/error.h"
#include "linac/base/base/refusal.h"
#include "linac/base/job/job.h"
#include "linac/control/catalog/job_text.h"
#include "linac/control/execution/news.h"
#include "linac/control/execution/scheduler.h"
#include "linac/control/execution/submission.h"
#include "linac/control/http/files/disk_room.h"
#include "linac/control/http/routes/json_fields.h"
#include "linac/control/service/declared_sites.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/job_wishes.h"
#include "linac/control/service/named_experiment.h"
#include "linac/control/service/ownership.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/things.h"
#include "linac/control/service/user_secrets.h"

namespace linac::service {
namespace {

using catalog::Database;
using nlohmann::json;

constexpr size_t kJobBytesMax = 4 << 20;

std::vector<FieldRule> submission_fields() {
  std::vector<FieldRule> fields = {{"job", FieldType::kText, true, "the job file's text"}};
  fields.insert(fields.end(), job_text_fields().begin(), job_text_fields().end());
  for (FieldRule field : std::vector<FieldRule>{
           {"array", FieldType::kObjects, false, "one job for each, with the further overrides {\"set\": [...]}"},
           {"name", FieldType::kText, false, "of the run; else the job's"},
           {"experiment", FieldType::kText, false, "its name; made if there is none; else Default"},
           {"depends_on", FieldType::kTexts, false, "runs that have to succeed first"},
           {"attempts_max", FieldType::kInteger, false, "when it is lost or preempted; 5"},
           {"key", FieldType::kText, false, "makes a repeated request harmless"},
           {"check_only", FieldType::kBoolean, false, "queue nothing"}})
    fields.push_back(std::move(field));
  fields.insert(fields.end(), wish_fields().begin(), wish_fields().end());
  return fields;
}

execution::SubmissionRequest submission_of(const Request& request) {
  execution::SubmissionRequest submission;
  submission.job = request.text("job");
  submission.file = request.text("file", submission.file);
  submission.folder = request.text("folder");
  submission.directory = request.text("directory");
  submission.overrides = request.texts("set");
  for (const json& member : request.list("array")) {
    std::vector<std::string>& overrides = submission.array.emplace_back();
    const auto set = member.find("set");
    if (set == member.end() || !set->is_array())
      throw Refusal(RefusalKind::kInvalid, "[submit] each member of 'array' is {\"set\": [\"key=value\", ...]}");
    for (const json& text : *set) {
      if (!text.is_string()) throw Refusal(RefusalKind::kInvalid, "[submit] an override is a text, \"key=value\"");
      overrides.push_back(text.get<std::string>());
    }
  }
  submission.name = request.text("name");
  submission.user = request.caller.user;
  submission.account = request.caller.account;
  catalog::Wishes& wishes = submission.wishes = wishes_of(request);
  wishes.depends_on = request.texts("depends_on");
  wishes.attempts_max = request.integer("attempts_max", wishes.attempts_max);
  return submission;
}

// Written down, so that whoever submitted finds out later too.
std::string add_refused(Database& database, const execution::PreparedJob& job) {
  const std::string id = catalog::create_run(database, job.run).id;
  catalog::update_run(database, id, {{}, catalog::RunState::kFailedPrechecks, job.problem, {}});
  return id;
}

struct Submitted {
  json runs = json::array();
  std::string problem;  // the first
};

Submitted submit_all(Database& database, Request& request, std::vector<execution::PreparedJob> jobs,
                     catalog::Visibility visibility) {
  Submitted submitted;
  request.things.clear();
  const int64_t experiment = named_experiment(database, viewer_of(request), request.text("experiment"), visibility);
  for (const execution::PreparedJob& job : jobs)
    if (submitted.problem.empty()) submitted.problem = job.problem;
  const std::string key = request.text("key");
  for (size_t i = 0; i < jobs.size(); ++i) {
    execution::PreparedJob& job = jobs[i];
    job.run.experiment = experiment;
    std::string id;
    if (submitted.problem.empty())
      id = catalog::submit(database, job.run, job.job, job.wishes, key.empty() ? "" : fmt::format("{}/{}", key, i));
    else if (!job.problem.empty())
      id = add_refused(database, job);
    else
      continue;
    const catalog::Run run = catalog::run(database, id);
    request.things.push_back({kRunThing, id});
    submitted.runs.push_back(
        {{"id", id}, {"name", run.name}, {"state", catalog::to_string(run.state)}, {"reason", run.reason}});
  }
  return submitted;
}

Response answer(const Submitted& submitted) {
  if (submitted.problem.empty()) return Response::json({{"runs", submitted.runs}});
  Response response = Response::json({{"type", "about:blank"},
                                      {"title", "The job would fail"},
                                      {"status", 422},
                                      {"code", "FAILED_PRECHECKS"},
                                      {"detail", submitted.problem},
                                      {"runs", submitted.runs}},
                                     422);
  response.type = "application/problem+json";
  return response;
}

// Asked again when an attempt starts: until then they may be removed, and set anew.
void need_secrets(Context& context, const std::string& user, std::vector<execution::PreparedJob>& jobs) {
  context.catalog.read([&](Database& database) {
    for (execution::PreparedJob& job : jobs)
      if (job.problem.empty()) job.problem = why_no_secrets(database, user, job.secrets);
  });
}

// Up to the first problem. The first job of an array stands for all in what the site is asked.
void look_there(const sites::Site& site, std::vector<execution::PreparedJob>& jobs) {
  for (execution::PreparedJob& job : jobs) {
    if (job.problem.empty())
      job.problem = &job == &jobs.front() ? why_not_there(site, job.job) : why_too_much(site, job.job);
    if (!job.problem.empty()) return;
  }
}

Handler submits(Context& context, execution::Scheduler& scheduler, const DeclaredSites& sites) {
  return [&context, &scheduler, &sites](Request& request) -> Task<Response> {
    http::check_room(context.data, kJobBytesMax, context.keep_free);
    struct Prepared {
      execution::SubmissionRequest submission;
      std::vector<execution::PreparedJob> jobs;
    };
    const auto prepared = std::make_shared<Prepared>();
    prepared->submission = submission_of(request);
    if (request.caller.access != Access::kAdmin) {
      prepared->submission.hidden = context.data.string();
      prepared->submission.sandbox =
          execution::view_of_all(scheduler.attempts().sandboxes, prepared->submission.account);
    }
    const std::string place = prepared->submission.wishes.place;
    sites.check(place, request.caller);
    if (place == catalog::kOwnHost)
      co_await aside(context, [&] { need_trust(context, scheduler.attempts(), request.caller.user); });
    const std::function<void()> work = [prepared, all = scheduler.all(place),
                                        price_known = scheduler.attempts().prices.known()] {
      prepared->jobs = execution::prepare(prepared->submission, all, price_known);
    };
    co_await context.checks.run(request.caller.user, work);
    co_await aside(context, [&] { need_secrets(context, request.caller.user, prepared->jobs); });
    if (const auto site = sites.find(place)) {
      const std::function<void()> look = [prepared, site] { look_there(*site, prepared->jobs); };
      co_await context.checks.run(request.caller.user, look);
    }
    const std::vector<execution::PreparedJob>& jobs = prepared->jobs;
    if (request.flag("check_only")) {
      request.noted = true;  // nothing has changed
      Submitted checked;
      for (const execution::PreparedJob& job : jobs)
        if (checked.problem.empty()) checked.problem = job.problem;
      co_return answer(checked);
    }
    const Submitted submitted = co_await writing(
        context,
        [&](Database& database) {
          request.noted = false;
          Submitted all = submit_all(database, request, jobs, context.visibility);
          note_change(database, request);
          return all;
        },
        who_asks(request));
    if (submitted.problem.empty()) scheduler.wake();
    co_return answer(submitted);
  };
}

json job_json(const catalog::QueuedJob& job) {
  return {{"run", job.run},
          {"name", job.name},
          {"user", job.user},
          {"state", catalog::to_string(job.state)},
          {"reason", job.reason},
          {"priority", job.wishes.priority},
          {"depends_on", job.wishes.depends_on},
          {"cores", job.wishes.resources.cores},
          {"memory_mb", job.wishes.resources.memory_mb},
          {"gpus", job.wishes.resources.gpus},
          {"seconds_max", job.wishes.seconds_max},
          {"cost_max", job.wishes.cost_max},
          {"attempts", job.attempts},
          {"attempts_max", job.wishes.attempts_max},
          {"on", job.wishes.place},
          {"tags", job.wishes.tags},
          {"seconds_used", job.seconds_used},
          {"cancel_wished", job.cancel_wished},
          {"held_by", job.held_by},
          {"submitted_ms", job.submitted_ms}};
}

/// What another's private job shows: that it has a place in the queue, and of what size.
catalog::QueuedJob without_names(const catalog::QueuedJob& job) {
  catalog::QueuedJob shown;
  shown.state = job.state;
  shown.wishes.priority = job.wishes.priority;
  shown.wishes.resources = job.wishes.resources;
  shown.wishes.place = job.wishes.place;
  shown.submitted_ms = job.submitted_ms;
  return shown;
}

Handler queue_handler(Context& context, execution::Scheduler& scheduler) {
  return reads(context, [&scheduler](Database& database, Request& request) -> json {
    constexpr int64_t kShownMax = 1000;
    const int64_t limit = std::clamp<int64_t>(request.integer("limit", kShownMax), 1, kShownMax);
    json jobs = json::array();
    const auto queue = catalog::queue(database);
    const std::set<std::string> readable = catalog::readable_queue(database, viewer_of(request));
    for (const catalog::QueuedJob& job : queue)
      if (static_cast<int64_t>(jobs.size()) < limit)
        jobs.push_back(job_json(readable.contains(job.run) ? job : without_names(job)));
    const launch::Demand& all = scheduler.all();
    return {{"jobs", std::move(jobs)},
            {"count", queue.size()},
            {"slots", {{"cores", all.cores}, {"memory_mb", all.memory_mb}, {"gpus", all.gpus}}}};
  });
}

// A change of one job by its owner, after which the scheduler looks.
/// The run's job with more of its budget.
std::string with_budget(const std::string& job, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings)
    if (!setting.starts_with("budget."))
      throw Refusal(RefusalKind::kInvalid,
                    fmt::format("[queue] {}: a run that goes on changes its budget alone: budget.hours=16", setting));
  try {
    return job::to_yaml(job::parse_job(job, "the run's job", settings));
  } catch (const Error& error) {
    throw Refusal(RefusalKind::kInvalid, error.what());
  }
}

Handler changes(Context& context, execution::Scheduler& scheduler,
                std::function<void(Database&, const Request&, const std::string&)> change) {
  return [&context, &scheduler, change = std::move(change)](Request& request) -> Task<Response> {
    const std::string id = request.variable("id");
    const catalog::Run run = co_await writing(
        context,
        [&](Database& database) {
          request.noted = false;
          change(database, request, id);
          note_change(database, request);
          return catalog::run(database, id);
        },
        who_asks(request));
    scheduler.wake();
    execution::publish_state(context.hub, id, run.state, run.reason);
    co_return Response::json({{"id", id}, {"state", catalog::to_string(run.state)}, {"reason", run.reason}});
  };
}

}  // namespace

std::vector<Route> job_routes(Context& context, execution::Scheduler& scheduler, const DeclaredSites& sites) {
  const Changes of_run = Changes::of(by_variable(kRunThing, "id"));
  return {
      changing(
          Changes::made(),
          {Method::kPost, "/api/v1/jobs", "submit_jobs", "Puts a job, or an array of jobs, into the queue",
           Access::kMember, BodyKind::kJson, submission_fields(), submits(context, scheduler, sites), kJobBytesMax},
          Reads::found(by_list(kRunThing, "depends_on"))),
      showing(Reads::nothing(), {Method::kGet,
                                 "/api/v1/sites",
                                 "get_sites",
                                 "Places of others to which one's jobs may be sent (on): names and kinds",
                                 Access::kViewer,
                                 BodyKind::kNone,
                                 {},
                                 answers([&sites](Request& request) {
                                   return Response::json({{"sites", sites.shown_to(request.caller)}});
                                 })}),
      showing(
          Reads::found(),
          {Method::kGet,
           "/api/v1/queue",
           "get_queue",
           "All jobs that have not ended, the first to start in front; of those that one may not read the size alone",
           Access::kViewer,
           BodyKind::kNone,
           {{"limit", FieldType::kInteger, false, "at most 1000"}},
           queue_handler(context, scheduler)}),
      showing(Reads::of(by_variable(kRunThing, "id")), {Method::kGet,
                                                        "/api/v1/jobs/{id}",
                                                        "get_job",
                                                        "A job as it was queued",
                                                        Access::kViewer,
                                                        BodyKind::kNone,
                                                        {},
                                                        reads(context,
                                                              [](Database& database, Request& request) -> json {
                                                                const catalog::QueuedJob job = catalog::queued_job(
                                                                    database, request.variable("id"));
                                                                json answer = job_json(job);
                                                                answer["job"] = job.job;
                                                                return answer;
                                                              })}),
      changing(of_run, {Method::kPost,
                        "/api/v1/runs/{id}/cancel",
                        "cancel_run",
                        "Cancels a job; one that runs writes a checkpoint first",
                        Access::kMember,
                        BodyKind::kJson,
                        {{"reason", FieldType::kText, false, "why"}},
                        changes(context, scheduler,
                                [](Database& database, const Request& request, const std::string& id) {
                                  const std::string why = request.text("reason");
                                  catalog::cancel(database, id,
                                                  fmt::format("cancelled by {}{}", request.caller.user,
                                                              why.empty() ? "" : ": " + why));
                                })}),
      changing(of_run,
               {Method::kPost,
                "/api/v1/runs/{id}/resume",
                "resume_run",
                "Puts a job that ended without success back into the queue, to go on from its newest checkpoint",
                Access::kMember,
                BodyKind::kJson,
                {{"set", FieldType::kTexts, false, "settings of its budget: budget.hours=16"}},
                changes(context, scheduler,
                        [](Database& database, const Request& request, const std::string& id) {
                          const std::vector<std::string> settings = request.texts("set");
                          catalog::resume(database, id);
                          if (!settings.empty())
                            catalog::set_job_text(database, id,
                                                  with_budget(catalog::queued_job(database, id).job, settings));
                        })}),
  };
}

}  // namespace linac::service
