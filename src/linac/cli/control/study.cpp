#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/cli/control/study_foreign.h"
#include "linac/cli/control/study_page.h"
#include "linac/cli/control/study_place.h"
#include "linac/cli/control/study_words.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/study/record.h"
#include "linac/control/study/trials_use.h"
#include "linac/control/tune/point_json.h"
#include "linac/io/storage/output.h"

namespace linac::cli {
namespace {

using nlohmann::json;

struct StudyOptions {
  std::string folder, file, state = "complete", reason, out, experiment, server;
  LeaseOptions lease;
  int64_t trial = 0, step = 0, count = 1;
  std::vector<std::string> values;
  std::optional<double> cost;
  bool as_json = false, force = false;
};

double number(const std::string& text) {
  const json value = json::parse(text, nullptr, false);
  return tune::number_from_json(value.is_discarded() ? json(text) : value);
}

std::unique_ptr<StudyPlace> opened(const StudyOptions& options) {
  return open_study(options.folder, options.lease);
}

void run_new(const StudyOptions& options) {
  make_study(options.folder, options.file, options.experiment);
}

void run_delete(const StudyOptions& options) {
  delete_study(options.folder, options.force);
}

void run_ask(const StudyOptions& options) {
  const auto place = opened(options);
  for (int64_t i = 0; i < options.count; ++i) fmt::print("{}\n", place->ask().dump());
}

void run_tell(const StudyOptions& options) {
  std::vector<double> values;
  for (const std::string& value : options.values) values.push_back(number(value));
  const tune::State state = study::state_named(options.state);
  if (state == tune::State::kRunning) throw user_error("[study] --state: a trial that runs is not told");
  if (options.cost && !(*options.cost >= 0 && std::isfinite(*options.cost)))
    throw user_error(fmt::format("[study] --cost: {} is not possible; a number of 0 or more", *options.cost));
  const double cost = options.cost.value_or(std::numeric_limits<double>::quiet_NaN());
  fmt::print("{}\n", opened(options)->tell({options.trial, state, values, options.reason, cost}).dump());
}

// With a trial an intermediate value of it, without one the page.
void run_report(const StudyOptions& options) {
  if (options.trial != 0 && options.values.empty())
    throw user_error("[study] report: a trial's value has three words: TRIAL STEP VALUE, 7 10 0.31");
  storage::need_ending(options.out, {".html", ".htm"}, "study");
  const auto place = opened(options);
  if (options.trial != 0) {
    fmt::print("{}\n", place->report(options.trial, options.step, number(options.values.at(0))).dump());
    return;
  }
  const std::filesystem::path beside = at_service() ? options.folder + ".html" : options.folder + "/report.html";
  const std::filesystem::path out = options.out.empty() ? beside : std::filesystem::path(options.out);
  auto facts = at_service() ? std::vector<std::pair<std::string, std::string>>{{"study", options.folder}}
                            : study::folder_facts(place->ledger(), options.folder);
  write_study_page(study::record_of(place->ledger(), "Study " + place->title(), std::move(facts)), out);
  fmt::print("{}\n", out.string());
}

void run_best(const StudyOptions& options) {
  const auto place = opened(options);
  const study::Ledger& ledger = place->ledger();
  if (!options.as_json) {
    fmt::print("{}", best_words(ledger));
    return;
  }
  json front = json::array();
  for (const tune::Trial* trial : ledger.history().front()) front.push_back(study::trial_json(ledger, *trial));
  if (ledger.history().objectives() == 1) front = front.empty() ? json() : front[0];
  fmt::print("{}\n", front.dump());
}

void run_show(const StudyOptions& options) {
  const auto place = opened(options);
  const study::Ledger& ledger = place->ledger();
  if (!options.as_json) {
    fmt::print("{}{}", trials_words(ledger), best_words(ledger));
    if (const std::string standing = place->standing(); !standing.empty()) fmt::print("{}\n", standing);
    return;
  }
  json all = json::array();
  for (const tune::Trial& trial : ledger.history().trials()) all.push_back(study::trial_json(ledger, trial));
  fmt::print("{}\n", all.dump(1));
}

void run_stop(const StudyOptions& options) {
  fmt::print("{}\n", stop_study(options.folder, options.reason));
}

void run_replay(const StudyOptions& options) {
  const auto place = opened(options);
  const std::vector<int64_t> others = place->replay();
  const size_t count = place->ledger().history().trials().size();
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
  // The word itself is taken before the line is parsed (server_word.h); here it is for the help.
  const auto add_server = [&](CLI::App* made) {
    made->add_option("--server", options->server, "address of the service that has the study (default: a folder here)");
  };
  const auto sub = [&](const char* name, const char* help, void (*run)(const StudyOptions&)) {
    auto* made = verb->add_subcommand(name, help);
    made->add_option("study", options->folder, "its folder, or its name at the service of --server")->required();
    add_server(made);
    made->callback([options, run] { run(*options); });
    return made;
  };
  sub("show", "All trials, the best first", run_show)->add_flag("--json", options->as_json, "as JSON");
  sub("best", "The best trial; of several objectives those that no other one beats in all", run_best)
      ->add_flag("--json", options->as_json, "as JSON");
  sub("replay", "Whether every suggestion follows from what had been told before it", run_replay);
  auto* made = verb->add_subcommand("new", "Makes the folder of a study whose trials another program carries out");
  made->add_option("study", options->file, "study file (YAML)")->required()->check(CLI::ExistingFile);
  made->add_option("--out", options->folder, "folder of the study, or its name at the service of --server")->required();
  made->add_option("--experiment", options->experiment, "of a service: put it there; made if there is none");
  add_server(made);
  made->callback([options] { run_new(*options); });
  add_foreign_studies(*verb);
  const auto add_lease = [&](CLI::App* to, const char* word_help) {
    to->add_option("--lease", options->lease.word, word_help);
  };
  const auto add_seconds = [&](CLI::App* to) {
    to->add_option("--seconds", options->lease.seconds, "at a service: after so long another is given the trial (600)");
  };
  auto* ask = sub("ask", "The next trials, a line of JSON each: {\"trial\": 7, \"point\": {...}}", run_ask);
  ask->add_option("-n,--count", options->count, "so many")->check(CLI::PositiveNumber);
  add_lease(ask, "at a service: a word of one's own, with which asking again gives the same trial");
  add_seconds(ask);
  auto* report =
      sub("report",
          "The page of the study; with a trial, an intermediate value of it, which says whether to stop it: {\"stop\": "
          "false}",
          run_report);
  report->add_option("trial", options->trial, "its number")->check(CLI::PositiveNumber);
  report->add_option("step", options->step, "e.g. epochs that are done");
  report->add_option("value", options->values, "a number, nan or inf")->expected(1);
  report->add_option("--out", options->out, "of the page (default: STUDY/report.html, at a service STUDY.html)");
  const char* const held = "at a service: what asking answered with; without, one speaks for whoever has the trial";
  add_lease(report, held);
  add_seconds(report);
  auto* tell = sub("tell", "The end of a trial", run_tell);
  tell->add_option("trial", options->trial, "its number")->required();
  tell->add_option("values", options->values, "one an objective: numbers, nan or inf");
  tell->add_option("--state", options->state, "complete, pruned, failed (its host was lost) or infeasible");
  tell->add_option("--reason", options->reason, "in words");
  tell->add_option("--cost", options->cost, "what it took, in the unit of sampler.cost; without: what that says");
  add_lease(tell, held);
  sub("delete", "Deletes a study of a service, with all that was asked and told", run_delete)
      ->add_flag("--force", options->force, "although programs have trials of it");
  auto* stop =
      sub("stop", "Ends a study that the queue of a service carries out (`linac submit STUDY.yaml`)", run_stop);
  stop->add_option("--reason", options->reason, "in words");
  stop->footer(
      "Its trials write checkpoints and stop; submitted again it goes on with them.\n"
      "Example: linac study stop rates --server http://127.0.0.1:5000");
  verb->footer(
      "Examples:\n"
      "  linac study show studies/a\n"
      "  linac study report studies/a --out report.html\n"
      "  linac study new space.yaml --out studies/mine\n"
      "  linac study ask studies/mine              # {\"trial\":1,\"point\":{\"x\":0.25}}\n"
      "  linac study tell studies/mine 1 0.031\n"
      "  linac study new space.yaml --server http://127.0.0.1:5000 --out mine\n"
      "  linac study ask mine --server http://127.0.0.1:5000");
}

}  // namespace linac::cli
