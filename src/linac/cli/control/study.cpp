#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "linac/base/error.h"
#include "linac/base/plural.h"
#include "linac/cli/control/study_foreign.h"
#include "linac/cli/control/study_page.h"
#include "linac/cli/control/study_words.h"
#include "linac/cli/control/verbs.h"
#include "linac/study/journal.h"
#include "linac/tune/point_json.h"

namespace linac::cli {
namespace {

using nlohmann::json;

struct StudyOptions {
  std::string folder, file, state = "complete", reason, out;
  int64_t trial = 0, step = 0, count = 1;
  std::vector<std::string> values;
  bool as_json = false;
};

double number(const std::string& text) {
  const json value = json::parse(text, nullptr, false);
  return tune::number_from_json(value.is_discarded() ? json(text) : value);
}

void run_new(const StudyOptions& options) {
  const auto journal = study::Journal::open_or_make(options.folder, study::read_study(options.file));
  fmt::print("{}: {} of a space of {}\n", options.folder,
             plural(static_cast<int64_t>(journal.history().trials().size()), "trial"),
             plural(static_cast<int64_t>(journal.history().space().size()), "parameter"));
}

void run_ask(const StudyOptions& options) {
  auto journal = study::Journal::open(options.folder);
  for (int64_t i = 0; i < options.count; ++i) {
    const auto asked = journal.ask();
    if (const auto waits = journal.waits_for(); !asked && !waits.empty())
      throw user_error(
          fmt::format("[study] {}: the next interval begins when trials {} have ended; tell them (--state failed: as "
                      "the worst), and ask again",
                      options.folder, fmt::join(waits, ", ")));
    if (!asked)
      throw user_error(
          fmt::format("[study] {}: all {} of the budget were asked for; give more: budget.trials of its study.yaml",
                      options.folder, plural(journal.study().settings.budget.trials, "trial")));
    const tune::Trial& trial = *journal.history().find(*asked);
    json line{{"trial", trial.number}, {"point", tune::to_json(journal.history().space(), trial.point)}};
    if (trial.parent != 0) line["from"] = trial.parent;  // whose state it goes on from
    fmt::print("{}\n", line.dump());
  }
}

void run_tell(const StudyOptions& options) {
  auto journal = study::Journal::open(options.folder);
  std::vector<double> values;
  for (const std::string& value : options.values) values.push_back(number(value));
  const tune::State state = study::state_named(options.state);
  if (state == tune::State::kRunning) throw user_error("[study] --state: a trial that runs is not told");
  journal.tell(options.trial, state, values, options.reason);
  fmt::print("{}\n", trial_json(journal, *journal.history().find(options.trial)).dump());
}

// With a trial an intermediate value of it, without one the page.
void run_report(const StudyOptions& options) {
  if (options.trial == 0) {
    const std::filesystem::path out = options.out.empty() ? std::filesystem::path(options.folder) / "report.html"
                                                          : std::filesystem::path(options.out);
    write_study_page(study::Journal::open(options.folder), out);
    fmt::print("{}\n", out.string());
    return;
  }
  if (options.values.empty())
    throw user_error("[study] report: a trial's value has three words: TRIAL STEP VALUE, 7 10 0.31");
  auto journal = study::Journal::open(options.folder);
  const tune::Verdict verdict = journal.report(options.trial, options.step, number(options.values.at(0)));
  fmt::print("{}\n", json{{"stop", verdict.stop}, {"reason", verdict.reason}}.dump());
}

void run_best(const StudyOptions& options) {
  const auto journal = study::Journal::open(options.folder);
  if (!options.as_json) {
    fmt::print("{}", best_words(journal));
    return;
  }
  json front = json::array();
  for (const tune::Trial* trial : journal.history().front()) front.push_back(trial_json(journal, *trial));
  if (journal.history().objectives() == 1) front = front.empty() ? json() : front[0];
  fmt::print("{}\n", front.dump());
}

void run_show(const StudyOptions& options) {
  const auto journal = study::Journal::open(options.folder);
  if (!options.as_json) {
    fmt::print("{}{}", trials_words(journal), best_words(journal));
    return;
  }
  json all = json::array();
  for (const tune::Trial& trial : journal.history().trials()) all.push_back(trial_json(journal, trial));
  fmt::print("{}\n", all.dump(1));
}

void run_replay(const StudyOptions& options) {
  const auto journal = study::Journal::open(options.folder);
  const std::vector<int64_t> others = journal.replay();
  const size_t count = journal.history().trials().size();
  if (others.empty()) {
    fmt::print("all {} suggestions follow from what was told before them\n", count);
    return;
  }
  throw data_error(
      fmt::format("[study] {}: {} of {} suggestions come out otherwise (trials {}); another linac or processor made "
                  "them, or the journal was altered",
                  options.folder, others.size(), count, fmt::join(others, ", ")));
}

}  // namespace

void add_study_verb(CLI::App& app) {
  auto* verb =
      app.add_subcommand("study", "A study of hyper-parameters: shown, replayed, asked and told by any program");
  verb->require_subcommand(1);
  auto options = std::make_shared<StudyOptions>();
  const auto sub = [&](const char* name, const char* help, void (*run)(const StudyOptions&)) {
    auto* made = verb->add_subcommand(name, help);
    made->add_option("folder", options->folder, "of the study")->required();
    made->callback([options, run] { run(*options); });
    return made;
  };
  sub("show", "All trials, the best first", run_show)->add_flag("--json", options->as_json, "as JSON");
  sub("best", "The best trial; of several objectives those that no other one beats in all", run_best)
      ->add_flag("--json", options->as_json, "as JSON");
  sub("replay", "Whether every suggestion follows from what had been told before it", run_replay);
  auto* made = verb->add_subcommand("new", "Makes the folder of a study whose trials another program carries out");
  made->add_option("study", options->file, "study file (YAML)")->required()->check(CLI::ExistingFile);
  made->add_option("--out", options->folder, "folder of the study")->required();
  made->callback([options] { run_new(*options); });
  add_foreign_studies(*verb);
  sub("ask", "The next trials, a line of JSON each: {\"trial\": 7, \"point\": {...}}", run_ask)
      ->add_option("-n,--count", options->count, "so many")
      ->check(CLI::PositiveNumber);
  auto* report =
      sub("report",
          "The page of the study; with a trial, an intermediate value of it, which says whether to stop it: {\"stop\": "
          "false}",
          run_report);
  report->add_option("trial", options->trial, "its number")->check(CLI::PositiveNumber);
  report->add_option("step", options->step, "e.g. epochs that are done");
  report->add_option("value", options->values, "a number, nan or inf")->expected(1);
  report->add_option("--out", options->out, "of the page (default: STUDY/report.html)");
  auto* tell = sub("tell", "The end of a trial", run_tell);
  tell->add_option("trial", options->trial, "its number")->required();
  tell->add_option("values", options->values, "one an objective: numbers, nan or inf");
  tell->add_option("--state", options->state, "complete, pruned, failed (its host was lost) or infeasible");
  tell->add_option("--reason", options->reason, "in words");
  verb->footer(
      "Examples:\n"
      "  linac study show studies/a\n"
      "  linac study report studies/a --out report.html\n"
      "  linac study new space.yaml --out studies/mine\n"
      "  linac study ask studies/mine              # {\"trial\":1,\"point\":{\"x\":0.25}}\n"
      "  linac study tell studies/mine 1 0.031");
}

}  // namespace linac::cli
