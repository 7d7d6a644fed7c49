// What a job would take at each place that its user may send it to: `linac plan` on the pages, and what the verb asks a
// service for. Measurements and experience are those of runs that the caller may read.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "linac/base/base/error.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"
#include "linac/base/job/job.h"
#include "linac/base/plan/batch_law.h"
#include "linac/base/plan/plan_rows.h"
#include "linac/base/plan/work.h"
#include "linac/control/catalog/queue.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/past_runs.h"
#include "linac/control/service/plan_places.h"
#include "linac/control/service/plan_request.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/things.h"

namespace linac::service {
namespace {

using nlohmann::json;

constexpr size_t kKinBytesMax = 64;

struct Planner {
  Planner(Context& context, const execution::Scheduler& scheduler, const DeclaredSites& sites,
          const launch::PilotBoard& pilots)
      : places{context, scheduler, sites, pilots}, past(context) {}
  PlanPlaces places;
  PastRuns past;
};

struct Planned {
  job::Job job;
  std::string why_not;  // the run itself is no measurement
};

// A run as its folder has it; one that has not begun as it was queued.
Planned planned_job(Planner& planner, const PlanRequest& wanted) {
  if (wanted.run.empty()) {
    job::Job job = job::parse_job(wanted.job, wanted.file, wanted.overrides);
    return {std::move(job), ""};
  }
  if (auto found = planner.past.find(wanted.run)) {
    if (wanted.overrides.empty()) return {std::move(found->job), found->past.why_not};
    job::Job job = job::parse_job(job::to_yaml(found->job), "the run's job", wanted.overrides);
    return {std::move(job), found->past.why_not};
  }
  const std::string text = planner.places.context.catalog.read_as([&](catalog::Database& database) {
    try {
      return catalog::queued_job(database, wanted.run).job;
    } catch (const Refusal&) {
      return std::string();
    }
  });
  if (text.empty())
    throw Refusal(RefusalKind::kState,
                  "[plan] this run has left no record that can be read here, and was not queued: there is no job to "
                  "plan; plan its "
                  "job file (`linac plan JOB.yaml --on` this service)");
  job::Job job = job::parse_job(text, "the run's job", wanted.overrides);
  return {std::move(job), "it has not come to its end"};
}

[[noreturn]] void refuse_unmeasured(const Planned& planned) {
  throw Refusal(
      RefusalKind::kState,
      fmt::format(
          "[plan] nothing has been measured of this work: no run of the same model, data and batch that you may "
          "read has ended here with one worker{}; let one run for an epoch (linac submit JOB --set workers=1 "
          "--set train.epochs=1), or measure it where you are: linac plan JOB --on this service",
          planned.why_not.empty() ? "" : " (of this one: " + planned.why_not + ")"));
}

struct Measurements {
  std::vector<plan::Measured> measured;
  json told = json::array();
};

// That of the service's host first, else the newest; each at the job's batch, with the job's steps.
Measurements measurements_of(const Planned& planned, const std::vector<plan::PastRun>& past) {
  std::vector<plan::KnownRun> newest = plan::measured_by_runs(past, planned.job);
  std::stable_partition(newest.begin(), newest.end(),
                        [](const plan::KnownRun& run) { return plan::is_host(run.measured.host, plan::this_host()); });
  Measurements found;
  for (const plan::KnownRun& run : newest) {
    const plan::Measured& told = run.measured;
    plan::Measured& measured = found.measured.emplace_back(plan::at_batch(told, planned.job.train.batch));
    measured.work = plan::work_digest(planned.job);
    plan::fit_to(planned.job, told.batch, measured);
    found.told.push_back({{"run", run.where},
                          {"name", run.name},
                          {"host", told.host},
                          {"when", told.when},
                          {"steps", told.steps_seen},
                          {"step_s", told.step_s()}});
  }
  return found;
}

void set_currency(const PlanRequest& wanted, const plan::Book& book, plan::Ranking& ranking) {
  ranking.currency = book.rate_of(wanted.currency);
  ranking.wishes = {wanted.deadline_s, wanted.budget * ranking.currency.usd};
  if (!ranking.currency.source.date.empty())
    ranking.remarks.push_back(fmt::format("1 {} = {:g} USD, of {} ({})", ranking.currency.currency,
                                          ranking.currency.usd, ranking.currency.source.date,
                                          ranking.currency.source.text));
}

plan::Goal goal_of(const PlanRequest& wanted, const plan::Measured& measured, const std::vector<plan::PastRun>& past,
                   plan::Ranking& ranking) {
  if (!wanted.goal) return plan::all_steps(measured);
  if (auto goal = plan::steps_to(*wanted.goal, past, measured)) return *goal;
  ranking.remarks.push_back(plan::not_reached(wanted.goal_text, "this service"));
  return plan::all_steps(measured);
}

constexpr const char* kMoreToRead = "records of further runs are still to be read: ask again";

Response answer(const nlohmann::ordered_json& json) {
  std::string text = json.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kAnswerBytesMax)
    throw Refusal(RefusalKind::kInvalid, fmt::format("[plan] the answer has {} bytes ({} at most); ask for fewer rows",
                                                     text.size(), kAnswerBytesMax));
  return Response::text(std::move(text), "application/json");
}

Response plan_job(Planner& planner, const Request& request) {
  PlanRequest wanted = plan_request_of(request);
  const Planned planned = planned_job(planner, wanted);
  plan::need_whole_replicas(planned.job);
  bool more = false;
  const std::vector<plan::PastRun> past =
      planner.past.of(viewer_of(request), plan::kin_digest(planned.job), wanted.goal, more);
  const Measurements found = measurements_of(planned, past);
  if (found.measured.empty()) refuse_unmeasured(planned);
  const plan::Book book = plan::read_book();
  plan::Ranking ranking;
  ranking.title = "What '" + planned.job.name + "' would take";
  if (more) ranking.remarks.emplace_back(kMoreToRead);
  set_currency(wanted, book, ranking);
  plan::Question& question = wanted.question;
  question.offers = planner.places.offers(request.caller, book, ranking.remarks);
  if (question.workers.empty()) question.workers = {1};
  plan::Work work{.measured = found.measured, .goal = {}, .name = "", .remarks = {}};
  work.goal = goal_of(wanted, found.measured.front(), past, ranking);
  plan::rank_places({std::move(work)}, question, past, book, ranking);
  nlohmann::ordered_json told = plan::to_json(ranking, wanted.rows);
  told["count"] = ranking.rows.size();
  told["epochs"] = found.measured.front().epochs;
  told["measured"] = found.told;
  return answer(told);
}

Response list_places(const Planner& planner, const Request& request) {
  std::vector<std::string> remarks;
  json offers = json::array();
  for (const plan::Offer& offer : planner.places.offers(request.caller, plan::read_book(), remarks))
    offers.push_back(to_json(offer));
  return answer({{"places", std::move(offers)}, {"remarks", remarks}});
}

Response list_runs(Planner& planner, const Request& request) {
  const std::string kin = request.text("kin"), text = request.text("goal");
  if (kin.size() > kKinBytesMax)
    throw Refusal(RefusalKind::kInvalid, "[plan] 'kin' is no digest, as `linac plan` sends it");
  std::optional<plan::GoalWish> goal;
  if (!text.empty()) goal = plan::parse_goal(text);
  bool more = false;
  json told = json::array();
  for (const plan::PastRun& run : planner.past.of(viewer_of(request), kin, goal, more)) told.push_back(to_json(run));
  return answer({{"runs", std::move(told)}, {"remarks", more ? json{kMoreToRead} : json::array()}});
}

}  // namespace

std::vector<Route> plan_routes(Context& context, const execution::Scheduler& scheduler, const DeclaredSites& sites,
                               const launch::PilotBoard& pilots) {
  const auto planner = std::make_shared<Planner>(context, scheduler, sites, pilots);
  Route plan;
  plan.method = Method::kPost;
  plan.pattern = "/api/v1/plans";
  plan.name = "plan_job";
  plan.summary = "What a job would take at each place that it may be sent to: time, money, energy, ranked";
  plan.changes = Changes::nothing();
  plan.reads = Reads::found(by_field(kRunThing, "run"));
  plan.body = BodyKind::kJson;
  plan.body_bytes_max = 2 * kPlanJobBytesMax;
  plan.fields = plan_fields();
  plan.handler = works_aside(context, [planner](Request& request) { return plan_job(*planner, request); });

  Route where;
  where.pattern = "/api/v1/plans/places";
  where.name = "list_plan_places";
  where.summary = "Where one's jobs may run, for `linac plan --on`: hosts, prices, who waits";
  where.reads = Reads::nothing();
  where.handler = works_aside(context, [planner](Request& request) { return list_places(*planner, request); });

  Route before;
  before.pattern = "/api/v1/plans/runs";
  before.name = "list_plan_runs";
  before.summary = "What the newest runs teach a plan, for `linac plan --runs`: measurements, planned beside actual";
  before.reads = Reads::found();
  before.fields = {
      {"kin", FieldType::kText, false, "a digest of what is computed: runs of it, too, that were not planned"},
      {"goal", FieldType::kText, false, "tells how many steps those took to it: test auc >= 0.98"}};
  before.handler = works_aside(context, [planner](Request& request) { return list_runs(*planner, request); });
  return {std::move(plan), std::move(where), std::move(before)};
}

}  // namespace linac::service
