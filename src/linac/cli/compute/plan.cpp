#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "linac/base/base/amounts.h"
#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/glob.h"
#include "linac/base/plan/batch_law.h"
#include "linac/cli/compute/job_file.h"
#include "linac/cli/compute/plan_calibration.h"
#include "linac/cli/compute/plan_places.h"
#include "linac/cli/compute/plan_prices.h"
#include "linac/cli/compute/plan_runs.h"
#include "linac/cli/compute/plan_works.h"
#include "linac/cli/compute/plan_write.h"
#include "linac/cli/compute/probe.h"
#include "linac/cli/compute/report_folder.h"
#include "linac/cli/compute/scaling_plan.h"
#include "linac/cli/compute/verbs.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/storage.h"
#include "linac/physics/report/plan/report.h"

namespace linac::cli {
namespace {

struct PlanOptions {
  std::string job, deadline, budget, currency, goal, measured, probe_only, prices, out, write, by = "money", machine;
  std::vector<std::string> overrides, runs;
  PlaceWishes places;
  WorkWishes works;
  std::vector<int> workers;
  double probe_seconds = 40;
  size_t top = 12;
  bool spot = false, json = false, not_here = false, anew = false;
};

const std::vector<std::pair<std::string, plan::Order>> kOrders{{"money", plan::Order::kMoney},
                                                               {"time", plan::Order::kTime},
                                                               {"energy", plan::Order::kEnergy},
                                                               {"carbon", plan::Order::kCarbon}};

struct Sum {
  double amount = 0;
  std::string currency;
};

// "200", "200USD", "200 EUR"
Sum sum_in(const std::string& text) {
  char* end = nullptr;
  const double amount = std::strtod(text.c_str(), &end);
  std::string unit = end;
  unit.erase(std::remove(unit.begin(), unit.end(), ' '), unit.end());
  if (unit.empty() || unit == "$") unit = "USD";
  const bool is_code =
      unit.size() == 3 && std::ranges::all_of(unit, [](char letter) { return letter >= 'A' && letter <= 'Z'; });
  if (end == text.c_str() || !std::isfinite(amount) || amount <= 0 || !is_code)
    throw user_error(
        fmt::format("[plan] --budget {}: wanted is a sum of money, in US dollars or a currency of which the price book "
                    "has the rate of exchange, e.g. 200USD or 200EUR",
                    text));
  return {amount, unit};
}

// In which money is told; what that rests on, if it is no dollar.
plan::Rate currency_of(const PlanOptions& options, const plan::Book& book, std::vector<std::string>& remarks) {
  std::string code = options.currency;
  if (code.empty()) code = options.budget.empty() ? "USD" : sum_in(options.budget).currency;
  const plan::Rate rate = book.rate_of(code);
  if (rate.source.date.empty()) return rate;
  remarks.push_back(fmt::format("1 {} = {:g} USD, of {}{} ({})", code, rate.usd, rate.source.date,
                                plan::is_old(rate.source, plan::today())
                                    ? ", more than a year ago: write today's into a book of yours (--prices)"
                                    : "",
                                rate.source.text));
  return rate;
}

// "200 EUR at 1.16"; empty for dollars.
std::string converted(const PlanOptions& options, const plan::Book& book) {
  if (options.budget.empty()) return "";
  const Sum sum = sum_in(options.budget);
  return sum.currency == "USD"
             ? ""
             : fmt::format("{:g} {} at {:g}", sum.amount, sum.currency, book.rate_of(sum.currency).usd);
}

plan::Wishes wishes_of(const PlanOptions& options, const plan::Book& book) {
  plan::Wishes wishes;
  if (!options.deadline.empty())
    wishes.deadline_s = static_cast<double>(seconds_of("[plan] --deadline", options.deadline));
  if (!options.budget.empty()) {
    const Sum sum = sum_in(options.budget);
    wishes.budget = sum.amount * book.rate_of(sum.currency).usd;
  }
  return wishes;
}

constexpr const char* kProbed = "a short training";

// What a run does not tell, and what follows from the job, whose epochs may be others than those of the measured one.
void complete(const PlanOptions& options, plan::Measured& measured, std::vector<std::string>& remarks) {
  try {
    std::vector<std::string> at_its_batch = options.overrides;
    at_its_batch.push_back(fmt::format("train.batch={}", measured.batch));
    const JobOutline outline = outline_of(options.job, at_its_batch, measured.replicas, measured.step_s());
    measured.updates = outline.updates;
    measured.flop = outline.flop;
    measured.steps = outline.steps;
    measured.epochs = outline.epochs;
    measured.events = outline.events;
  } catch (const Error& error) {
    const job::Data data = whole_job(options.job, options.overrides).job.data;
    const bool here = std::none_of(data.train.begin(), data.train.end(), [](const std::string& file) {
      return !storage::scheme_of(file) && glob_paths(file).empty();
    });
    if (error.code() != ErrorCode::kData || measured.steps == 0 || here) throw;
    remarks.push_back(fmt::format("its data are not here: {} steps, as where it was measured", measured.steps));
  }
}

// A file that a probe wrote, a run, runs of the same work on this host, or a probe.
plan::Measured measurement(const PlanOptions& options, const job::Job& job, const RunsBefore& before, std::string& how,
                           std::vector<std::string>& remarks) {
  plan::Measured measured;
  if (!options.measured.empty()) {
    const bool run = std::filesystem::is_directory(options.measured);
    measured =
        run ? measured_by_run(options.measured) : plan::read_measured(read_file(options.measured), options.measured);
    how = options.measured;
    const bool other_batch = measured.kin == kin_digest(job) && plan::has_batch_law(measured);
    if (measured.work != work_digest(job) && !other_batch)
      throw user_error(
          fmt::format("[plan] --measured {}: it is of another model, batch or data ('{}'); measure this job, or that "
                      "one at two batches (--batch)",
                      options.measured, measured.job));
  } else if (before.measured && !options.anew) {
    measured = *before.measured;
    how = before.measured_in;
  } else {
    measured = probe(options.job, options.overrides, options.probe_seconds, second_batch(job, options.works));
    how = kProbed;
  }
  if (!options.machine.empty()) measured.machine = options.machine;
  if (how != kProbed) complete(options, measured, remarks);
  measured.replicas_of_job = job.train.replicas;
  return measured;
}

plan::Goal goal_of(const PlanOptions& options, const plan::Measured& measured, const std::vector<FoundRun>& runs,
                   std::vector<std::string>& remarks) {
  plan::Goal goal{.steps = {static_cast<double>(measured.steps), 0},
                  .remark = fmt::format("all {} steps of the job, {} epochs", measured.steps, measured.epochs)};
  if (options.goal.empty()) return goal;
  const GoalWish wish = parse_goal(options.goal);
  if (auto found = steps_to(wish, runs, measured)) return *found;
  remarks.push_back(
      fmt::format("how many steps '{}' takes is not known: no run of this job in {} has reached it; the "
                  "plan is for all steps of the job",
                  options.goal, options.runs.empty() ? "--runs" : fmt::format("{}", fmt::join(options.runs, ", "))));
  return goal;
}

std::vector<std::pair<std::string, std::string>> facts_of(const PlanOptions& options, const plan::Measured& measured,
                                                          const std::string& how) {
  return {made_fact(),
          {"job", options.job},
          {"measured", fmt::format("by {}, on {}", how, measured.host)},
          {"of it", fmt::format("{} steps of {:.4g} s (they scatter by {:.1f} %), start {:.3g} s, {} replicas side by "
                                "side with {} threads on {:g} cores",
                                measured.steps_seen, measured.step_s(), 100 * measured.scatter, measured.start_s.back(),
                                measured.replicas, measured.threads, measured.cores)}};
}

void run_plan(PlanOptions options) {
  if (options.job.empty()) throw user_error("[plan] of which job? linac plan JOB.yaml");
  if (!options.probe_only.empty()) storage::need_ending(options.probe_only, {".json"}, "plan");
  storage::need_local_folder(options.out, "plan");
  const plan::Book book = plan::read_book(options.prices);
  const plan::Wishes wishes = wishes_of(options, book);
  const job::Job job = whole_job(options.job, options.overrides).job;
  const std::vector<FoundRun> runs = runs_in(options.runs);
  const RunsBefore before = runs_before(runs, &job);
  report::PlanReport report;
  report.currency = currency_of(options, book, report.remarks);
  std::string how;
  const plan::Measured measured = measurement(options, job, before, how, report.remarks);
  if (!options.probe_only.empty()) {
    write_file_atomically(options.probe_only, plan::to_text(measured));
    fmt::print("  {}: {} steps of {:.4g} s\n", options.probe_only, measured.steps_seen, measured.step_s());
    return;
  }
  report.title = "What '" + job.name + "' would take";
  report.wishes = wishes;
  const std::vector<PlannedWork> works = works_of(
      options.works, {options.job, options.overrides, options.measured.empty() ? options.probe_seconds : 0, runs, book},
      measured, report.remarks);
  std::vector<plan::Goal> goals;
  for (const PlannedWork& work : works) goals.push_back(goal_of(options, work.measured, runs, report.remarks));
  report.goal = goals.front();
  report.experience = experience_of(before.planned);
  options.places.here = !options.not_here;
  if (options.workers.empty()) options.workers = job.workers > 1 ? std::vector{1, job.workers} : std::vector{1};
  std::vector<std::vector<plan::Place>> places;  // of each work
  std::vector<plan::Candidate> all;
  for (const PlannedWork& work : works) {
    const auto& there = places.emplace_back(places_for(options.places, work.measured, book));
    for (plan::Candidate one : plan::candidates(work.measured, there, options.spot, options.workers)) {
      one.work = places.size() - 1;
      all.push_back(one);
    }
  }
  std::vector<plan::Experience> experiences;  // of each place, whatever the work
  for (const plan::Place& place : places.front()) experiences.push_back(experience_of(before.planned, place.name));
  const auto row = [&](const plan::Candidate& one, plan::SpotBy by) {
    const PlannedWork& work = works[one.work];
    plan::Forecast found = plan::forecast(work.measured, goals[one.work], places[one.work][one.place], one, wishes,
                                          experiences[one.place], by);
    found.remarks.insert(found.remarks.end(), work.remarks.begin(), work.remarks.end());
    return found;
  };
  std::vector<plan::Forecast> found;
  for (const plan::Candidate& one : all) found.push_back(row(one, plan::SpotBy::kMeans));
  const auto order =
      std::find_if(kOrders.begin(), kOrders.end(), [&](const auto& one) { return one.first == options.by; });
  plan::rank(found, order->second,
             [&](const plan::Forecast& one) { return row(one.candidate, plan::SpotBy::kCarryingOut); });
  const std::vector<bool> front = plan::pareto(found);
  for (size_t i = 0; i < found.size(); ++i) {
    const plan::Candidate& one = found[i].candidate;
    const plan::Measured& of = works[one.work].measured;
    report.rows.push_back({report::plan_name(places[one.work][one.place], one) + works[one.work].name, found[i],
                           front[i], of.replicas_of_job, of.batch, of.precision});
  }
  report.facts = facts_of(options, measured, how);
  if (!options.out.empty()) write_report(options.out, report, "plan");
  if (options.json) {
    fmt::print("{}\n", report_text(report));
  } else {
    fmt::print("{}", report::to_text(report, options.top));
    if (!options.out.empty()) fmt::print("  page    {}\n", (std::filesystem::path(options.out) / "plan.html").string());
  }
  const bool any = !found.empty() && found.front().good;
  if (any && !options.write.empty()) {
    const plan::Candidate& best = found.front().candidate;
    write_plan(options.write, options.overrides, places[best.work][best.place], report.rows.front().name, found.front(),
               works[best.work].settings, wishes.budget, converted(options, book));
    if (!options.json) fmt::print("  written {}\n", options.write);
  }
  if (any) return;
  throw Error(ErrorCode::kBudget,
              "[plan] nothing meets deadline and budget; raise --deadline or --budget, or name more places by --on and "
              "--machine");
}

}  // namespace

void add_plan_verb(CLI::App& app) {
  auto options = std::make_shared<PlanOptions>();
  auto* verb = add_compute_verb(app, "plan");
  verb->add_option("job", options->job, "job file");
  verb->add_option("--on", options->places.sites, "sites of sites.yaml, or `all`")->delimiter(',');
  verb->add_option("--machine", options->places.machines,
                   "machines of the price book, e.g. 'gcp/*': what renting so many of them would be")
      ->delimiter(',');
  verb->add_option("--hosts", options->places.hosts_max, "so many of those machines at most")
      ->check(CLI::Range(1, 65536));
  verb->add_option("--workers", options->workers,
                   "workers a host (default: 1, which keeps all its cores or GPUs busy, and as many as the job says)")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  verb->add_option("--precision", options->works.precisions,
                   "other precisions of the job beside each other, e.g. fp32,bf16: each is measured for itself")
      ->delimiter(',');
  verb->add_option("--batch", options->works.batches,
                   "other batches of a replica, e.g. 8,16,32: measured at the job's and the furthest of them")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  verb->add_option("--replicas", options->works.replicas, "other numbers of replicas, e.g. 4,8,16")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  verb->add_flag("--spot", options->spot, "also hosts that may be taken away, where a price is known");
  verb->add_option(
          "--region", options->places.regions,
          "of prices and carbon dioxide, e.g. europe-west1; with several a machine of the book is tried in each")
      ->delimiter(',');
  verb->add_option("--spot-life", options->places.spot_life_h,
                   "hours until a machine of the book that may be taken away is, on average")
      ->check(CLI::PositiveNumber);
  verb->add_option("--spot-gap", options->places.spot_gap_h,
                   "hours until another one can be had, on average (default: at once)")
      ->check(CLI::PositiveNumber);
  verb->add_option("--date", options->places.date, "prices as they were then, e.g. 2021-03");
  verb->add_option("--deadline", options->deadline, "90m, 8h, 2d: what misses it more than once in five is not good");
  verb->add_option("--budget", options->budget, "likewise money, e.g. 200USD or 200EUR");
  verb->add_option(
      "--currency", options->currency,
      "in which money is shown, e.g. EUR, by the price book's rate of exchange (default: that of --budget)");
  verb->add_option("--goal", options->goal,
                   "until a measure of an epoch is so good, by the curves of earlier runs: 'test auc >= 0.98'");
  verb->add_option("--runs", options->runs,
                   "folders with runs, or of studies: one of the same work here replaces the measurement, and what was "
                   "planned for them "
                   "and came of it moves and widens the intervals")
      ->delimiter(',');
  verb->add_option("--measured", options->measured, "a file of --probe-only, or a run's folder: nothing is measured");
  verb->add_option("--machine-here", options->machine, "what was measured on, by the price book");
  verb->add_option("--probe-only", options->probe_only, "only measures, into this file (NAME.json)");
  verb->add_option("--probe-seconds", options->probe_seconds, "of the short trainings that measure")
      ->check(CLI::Range(2.0, 86400.0));
  verb->add_flag("--anew", options->anew, "measures, whatever runs there are");
  verb->add_flag("--not-here", options->not_here, "this host is no candidate");
  std::vector<std::string> orders;
  for (const auto& [name, order] : kOrders) orders.push_back(name);
  verb->add_option("--by", options->by, "the order")->check(CLI::IsMember(orders));
  verb->add_option("--top", options->top, "rows shown")->check(CLI::Range(1, 1000000));
  verb->add_option("--prices", options->prices, "price book of yours over the built-in one (default: LINAC_PRICES)");
  verb->add_option("--out", options->out, "folder for the page, its pictures and the same as JSON");
  verb->add_option(
      "--write", options->write,
      "puts the best into this job file: workers, precision, batch and replicas where they are others, and what is "
      "expected (plan), for `linac report` to compare");
  verb->add_flag("--json", options->json, "all of it as JSON");
  verb->add_option("--set", options->overrides, "settings of the job, e.g. train.epochs=30");
  verb->footer(
      "Examples: linac plan job.yaml\n"
      "          linac plan job.yaml --on farm,cloud --spot --deadline 8h --budget 200USD --out plan --write job.yaml\n"
      "          linac plan job.yaml --machine 'gcp/*' --hosts 16 --by time --json");
  add_plan_prices(*verb);
  add_plan_calibration(*verb);
  verb->callback([verb, options] {
    if (verb->get_subcommands().empty()) run_plan(*options);
  });
}

}  // namespace linac::cli
