#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/base/base/signals.h"
#include "linac/base/base/text_table.h"
#include "linac/cli/control/study_page.h"
#include "linac/cli/control/study_words.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/study/runner.h"

namespace linac::cli {
namespace {

struct TuneOptions {
  std::string study, out;
  int64_t trials = 0;
  int parallel = 0;
  std::vector<std::string> limits;
  bool take_over = false;
};

// The search is done whether or not there is a page of it.
void write_page_of(const study::Journal& journal) {
  const auto page = journal.folder() / "report.html";
  try {
    write_study_page(journal, page);
    fmt::print("  report  {}\n", page.string());
  } catch (const Error& error) {
    fmt::print("  no report: {}\n", error.what());
  }
}

study::StudySettings with_limits(const study::Study& study, const std::vector<std::string>& given) {
  study::StudySettings settings = study.settings;
  YAML::Node limits = YAML::Load(config::to_yaml(settings.limits));
  for (const std::string& one : given) {
    if (one.find('=') == std::string::npos)
      throw user_error(fmt::format("[study] --limit {}: expected KEY=VALUE, e.g. --limit steps=2000", one));
    config::apply_override(limits, one);
  }
  config::read(limits, settings.limits, "--limit", "limits.");
  study::check_limits(settings, !study.job.empty());
  return settings;
}

void run_tune(const TuneOptions& options) {
  study::Study read = study::read_study(options.study);
  if (options.trials > 0) read.settings.budget.trials = options.trials;
  if (options.parallel > 0) read.settings.parallel = options.parallel;
  if (!options.limits.empty()) read.settings = with_limits(read, options.limits);
  if (read.job.empty() && read.command().empty())
    throw user_error(fmt::format(
        "[study] {}: has neither a job nor objective.command: nothing carries out its trials; `linac study new` "
        "makes a study for `linac study ask` and `tell`",
        options.study));
  study::Journal journal = study::Journal::open_or_make(options.out, read);
  catch_stop_signals();
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const auto tell = [](const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  };
  const study::RunEnd end =
      study::run(journal, {.program = program,
                           .tell = tell,
                           .take_over = options.take_over ? storage::TakeOver::kAtOnce : storage::TakeOver::kIfLeft});
  fmt::print("{}", best_words(journal.ledger()));
  if (end == study::RunEnd::kDone) return write_page_of(journal);
  if (end == study::RunEnd::kLimit)
    throw Error(ErrorCode::kBudget,
                fmt::format("[study] {}: its limits are used up; with more of them it goes on: linac tune {} --out {} "
                            "--limit KEY=VALUE, or in the file",
                            options.out, options.study, options.out));
  fmt::print("stopped; the same command goes on\n");
  throw CLI::RuntimeError(static_cast<int>(ErrorCode::kPreempted));
}

}  // namespace

void add_tune_verb(CLI::App& app) {
  auto options = std::make_shared<TuneOptions>();
  auto* verb =
      app.add_subcommand("tune", "Searches hyper-parameters: trains a job with many settings, and finds the best");
  verb->add_option("study", options->study, "study file (YAML): a job, and what is searched around it")
      ->required()
      ->check(CLI::ExistingFile);
  verb->add_option("--out", options->out, "folder of the study; one that is there goes on")->required();
  verb->add_option("--trials", options->trials, "instead of budget.trials")->check(CLI::PositiveNumber);
  verb->add_option("--limit", options->limits, "instead of one of the study's limits: steps=N, hours=N, money=N, ...")
      ->type_size(1)
      ->allow_extra_args(false);
  verb->add_option("--parallel", options->parallel, "trials at a time, instead of the study's")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--take-over", options->take_over,
                 "go on although another process seems to carry the study out, which stops then");
  verb->footer(
      "Examples:\n"
      "  linac tune examples/tune.yaml --out studies/a      # Ctrl-C saves; the same command goes on\n"
      "  linac tune examples/tune.yaml --out studies/a --trials 60\n"
      "  linac study show studies/a\n"
      "docs/guide/tuning.md says what a study's file has; `linac help study` lists it.");
  verb->callback([options] { run_tune(*options); });
}

}  // namespace linac::cli
