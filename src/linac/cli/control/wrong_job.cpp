#include "linac/cli/control/wrong_job.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/terminal_text.h"
#include "linac/base/job/job.h"

namespace linac::cli {
namespace {

struct Line {
  std::string job, out;
  std::vector<std::string> overrides;
};

// False if there are other words than these. None of them but --set says what the job is.
bool has_only_a_job(int argc, char** argv, Line& line) {
  CLI::App app;
  app.require_subcommand(1);
  CLI::App* const train = app.add_subcommand("train");
  train->add_option("--out", line.out);
  train->add_flag("--resume");
  CLI::App* const check = app.add_subcommand("check");
  check->add_flag("--explain");
  check->add_flag("--json");
  for (CLI::App* verb : {train, check}) {
    verb->add_option("job", line.job)->required();
    verb->add_option("--set", line.overrides)->type_size(1)->allow_extra_args(false);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError&) {
    return false;
  }
  return line.job.find("://") == std::string::npos;
}

// Whoever started it as one of several marks what it says with its rank.
bool is_one_of_several() {
  return std::getenv("RANK") != nullptr;
}

}  // namespace

std::optional<int> status_of_wrong_job(int argc, char** argv) {
  Line line;
  if (is_one_of_several() || !has_only_a_job(argc, argv, line)) return std::nullopt;
  try {
    job::read_job(line.job, line.overrides);
  } catch (const Error& error) {
    keep_terminal_plain();
    log::error(error.what());
    return static_cast<int>(error.code());
  }
  return std::nullopt;
}

}  // namespace linac::cli
