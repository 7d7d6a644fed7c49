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
#include "linac/base/plan/plan_rows.h"
#include "linac/base/plan/work.h"
#include "linac/cli/compute/job_file.h"
#include "linac/cli/compute/plan_calibration.h"
#include "linac/cli/compute/plan_places.h"
#include "linac/cli/compute/plan_prices.h"
#include "linac/cli/compute/plan_runs.h"
#include "linac/cli/compute/plan_works.h"
#include "linac/cli/compute/plan_write.h"
#include "linac/cli/compute/probe.h"
#include "linac/cli/compute/scaling_plan.h"
#include "linac/cli/compute/verbs.h"
#include "linac/cli/data/report_folder.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"
#include "linac/physics/report/plan/report.h"

namespace linac::cli {
namespace {

struct PlanOptions {
  std::string job, deadline, budget, currency, goal, measured, probe_only, prices, out, write, by = "money", machine;
  std::vector<std::string> overrides, runs, places;
  plan::BookWishes book;
  WorkWishes works;
  std::vector<int> workers;
  double probe_seconds = 40;
  size_t top = 12;
  bool spot = false, json = false, not_here = false, anew = false;
};

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
    const job::Job job = whole_job(options.job, options.overrides).job;
    const job::Data& data = job.data;
    const bool here = std::none_of(data.train.begin(), data.train.end(), [](const std::string& file) {
      return !storage::scheme_of(file) && glob_paths(file).empty();
    });
    if (error.code() != ErrorCode::kData || measured.steps == 0 || here) throw;
    plan::fit_to(job, measured.batch, measured);
    remarks.push_back(fmt::format("its data are not here: {} steps, as where it was measured", measured.steps));
  }
}

struct Known {
  std::vector<plan::Measured> measured;  // the one to plan by, and those of other hosts
  std::string how;
};

// A file that a probe wrote, a run, runs of the same work on this host, or a probe. Where this host is no candidate, a
// run of another host stands for a probe.
Known measurement(const PlanOptions& options, const job::Job& job, const std::vector<plan::PastRun>& past,
                  std::vector<std::string>& remarks) {
  Known known;
  plan::Measured& measured = known.measured.emplace_back();
  const std::vector<plan::KnownRun> everywhere = plan::measured_by_runs(past, job);
  std::vector<plan::KnownRun> before = plan::measured_by_runs(past, job, plan::this_host());
  if (before.empty() && options.not_here) before = everywhere;
  if (!options.measured.empty()) {
    const bool run = std::filesystem::is_directory(options.measured);
    measured =
        run ? measured_by_run(options.measured) : plan::read_measured(read_file(options.measured), options.measured);
    known.how = options.measured;
    const bool other_batch = measured.kin == plan::kin_digest(job) && plan::has_batch_law(measured);
    if (measured.work != plan::work_digest(job) && !other_batch)
      throw user_error(
          fmt::format("[plan] --measured {}: it is of another model, batch or data ('{}'); measure this job, or that "
                      "one at two batches (--batch)",
                      options.measured, measured.job));
  } else if (!before.empty() && !options.anew) {
    measured = before.front().measured;
    known.how = before.front().where;
  } else {
    measured = probe(options.job, options.overrides, options.probe_seconds, second_batch(job, options.works));
    known.how = kProbed;
  }
  if (!options.machine.empty()) measured.machine = options.machine;
  if (known.how != kProbed) complete(options, measured, remarks);
  measured.replicas_of_job = job.train.replicas;
  const std::string host = measured.host;
  for (const plan::KnownRun& other : everywhere) {
    if (other.measured.host == host || other.measured.batch != job.train.batch) continue;
    known.measured.push_back(other.measured);
    plan::fit_to(job, other.measured.batch, known.measured.back());
  }
  return known;
}

plan::Goal goal_of(const PlanOptions& options, const plan::Measured& measured, const std::vector<plan::PastRun>& past,
                   std::vector<std::string>& remarks) {
  if (options.goal.empty()) return plan::all_steps(measured);
  if (auto found = plan::steps_to(plan::parse_goal(options.goal), past, measured)) return *found;
  remarks.push_back(plan::not_reached(
      options.goal, options.runs.empty() ? "--runs" : fmt::format("{}", fmt::join(options.runs, ", "))));
  return plan::all_steps(measured);
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
  plan::need_whole_replicas(job);
  const std::vector<plan::PastRun> past = past_runs(options.runs, plan::kin_digest(job), options.goal);
  report::PlanReport report;
  report.currency = currency_of(options, book, report.remarks);
  const auto [known, how] = measurement(options, job, past, report.remarks);
  const plan::Measured& measured = known.front();
  if (!options.probe_only.empty()) {
    write_file_atomically(options.probe_only, plan::to_text(measured));
    fmt::print("  {}: {} steps of {:.4g} s\n", options.probe_only, measured.steps_seen, measured.step_s());
    return;
  }
  report.title = "What '" + job.name + "' would take";
  report.wishes = wishes;
  const std::vector<PlannedWork> works = works_of(
      options.works, {options.job, options.overrides, options.measured.empty() ? options.probe_seconds : 0, past, book},
      measured, report.remarks);
  std::vector<plan::Work> beside;
  for (const PlannedWork& work : works) {
    plan::Work& one = beside.emplace_back(plan::Work{{work.measured}, {}, work.name, work.remarks});
    one.goal = goal_of(options, work.measured, past, report.remarks);
    for (size_t i = 1; i < known.size(); ++i)
      if (known[i].work == work.measured.work && known[i].replicas_of_job == work.measured.replicas_of_job)
        one.measured.push_back(known[i]);
  }
  if (options.workers.empty()) options.workers = job.workers > 1 ? std::vector{1, job.workers} : std::vector{1};
  const plan::Question question{.offers = offers_of(options.places, !options.not_here),
                                .book = options.book,
                                .spot = options.spot,
                                .workers = options.workers,
                                .order = *plan::order_named(options.by)};
  plan::rank_places(std::move(beside), question, past, book, report);
  report.facts = facts_of(options, measured, how);
  if (!options.out.empty()) write_report(options.out, report, "plan");
  if (options.json) {
    fmt::print("{}\n", report_text(report));
  } else {
    fmt::print("{}", report::to_text(report, options.top));
    if (!options.out.empty()) fmt::print("  page    {}\n", (std::filesystem::path(options.out) / "plan.html").string());
  }
  const bool any = !report.rows.empty() && report.rows.front().forecast.good;
  if (any && !options.write.empty()) {
    const plan::PlanRow& best = report.rows.front();
    write_plan(options.write, options.overrides, best, works[best.forecast.candidate.work].settings, wishes.budget,
               converted(options, book));
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
  auto* verb = add_handed_verb(app, "plan");
  verb->add_option("job", options->job, "job file");
  verb->add_option(
          "--on", options->places,
          "sites of sites.yaml, or `all`; a service, https://HOST: its host, its agents and the sites it declares")
      ->delimiter(',');
  verb->add_option("--machine", options->book.machines,
                   "machines of the price book, e.g. 'gcp/*': what renting so many of them would be")
      ->delimiter(',');
  verb->add_option("--hosts", options->book.hosts_max, "so many of those machines at most")
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
          "--region", options->book.regions,
          "of prices and carbon dioxide, e.g. europe-west1; with several a machine of the book is tried in each")
      ->delimiter(',');
  verb->add_option("--spot-life", options->book.spot_life_h,
                   "hours until a machine of the book that may be taken away is, on average")
      ->check(CLI::PositiveNumber);
  verb->add_option("--spot-gap", options->book.spot_gap_h,
                   "hours until another one can be had, on average (default: at once)")
      ->check(CLI::PositiveNumber);
  verb->add_option("--date", options->book.date, "prices as they were then, e.g. 2021-03");
  verb->add_option("--deadline", options->deadline, "90m, 8h, 2d: what misses it more than once in five is not good");
  verb->add_option("--budget", options->budget, "likewise money, e.g. 200USD or 200EUR");
  verb->add_option(
      "--currency", options->currency,
      "in which money is shown, e.g. EUR, by the price book's rate of exchange (default: that of --budget)");
  verb->add_option("--goal", options->goal,
                   "until a measure of an epoch is so good, by the curves of earlier runs: 'test auc >= 0.98'");
  verb->add_option(
          "--runs", options->runs,
          "folders with runs, or of studies, or a service, https://HOST: a run of the same work here replaces the "
          "measurement, and what was planned for them and came of it moves and widens the intervals")
      ->delimiter(',');
  verb->add_option("--measured", options->measured, "a file of --probe-only, or a run's folder: nothing is measured");
  verb->add_option("--machine-here", options->machine, "what was measured on, by the price book");
  verb->add_option("--probe-only", options->probe_only, "only measures, into this file (NAME.json)");
  verb->add_option("--probe-seconds", options->probe_seconds, "of the short trainings that measure")
      ->check(CLI::Range(2.0, 86400.0));
  verb->add_flag("--anew", options->anew, "measures, whatever runs there are");
  verb->add_flag("--not-here", options->not_here, "this host is no candidate");
  verb->add_option("--by", options->by, "the order")->check(CLI::IsMember(plan::order_names()));
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
      "          linac plan job.yaml --machine 'gcp/*' --hosts 16 --by time --json\n"
      "          linac plan job.yaml --on https://linac.lab.org --runs https://linac.lab.org --not-here");
  add_plan_prices(*verb);
  add_plan_calibration(*verb);
  verb->callback([verb, options] {
    if (verb->get_subcommands().empty()) run_plan(*options);
  });
}

}  // namespace linac::cli
