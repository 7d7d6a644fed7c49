#include <fmt/format.h>

#include <memory>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/job/job.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/study/study_file.h"

namespace linac::cli {
namespace {

struct HelpOptions {
  std::string topic, part;
};

bool is_within(const std::string& key, const std::string& part) {
  return part.empty() || key == part || key.starts_with(part + ".") || key.starts_with(part + "[].");
}

[[noreturn]] void no_such_part(const std::string& part, const std::vector<job::JobSetting>& settings) {
  std::vector<std::string> known;
  for (const job::JobSetting& setting : settings) {
    known.push_back(setting.key);
    for (size_t dot = setting.key.find('.'); dot != std::string::npos; dot = setting.key.find('.', dot + 1))
      known.push_back(setting.key.substr(0, dot));
  }
  const auto near = nearest(part, known);
  throw user_error(fmt::format("[help] a job has no setting '{}'; {}", part,
                               near ? fmt::format("did you mean {}?", *near) : "linac help job lists all"));
}

void print_settings(const std::string& part) {
  const std::vector<job::JobSetting> settings = job::job_settings();
  bool found = false;
  for (const job::JobSetting& setting : settings) {
    if (!is_within(setting.key, part)) continue;
    found = true;
    fmt::print("{}  {}, {}{}\n", setting.key, setting.type,
               setting.value == "\"\"" ? "empty by default" : "default " + setting.value,
               setting.kind.empty() ? "" : fmt::format("  [{}]", setting.kind));
    if (!setting.help.empty()) fmt::print("    {}\n", setting.help);
  }
  if (!found) no_such_part(part, settings);
}

// Those around a job. `search` is a list to the program, and a map by the job's keys in the file.
void print_study_settings() {
  for (const config::Setting& setting : study::study_settings()) {
    if (setting.key == "search[].name") continue;
    std::string key = setting.key;
    if (key.starts_with("search[].")) key.replace(0, 9, "search.KEY.");
    fmt::print("{}  {}, {}\n", key, key == "search" ? "map" : setting.type,
               setting.value == "\"\"" || setting.value == "[]" ? "empty by default" : "default " + setting.value);
    if (!setting.help.empty()) fmt::print("    {}\n", setting.help);
  }
}

}  // namespace

void add_help_verb(CLI::App& app) {
  auto options = std::make_shared<HelpOptions>();
  auto* verb =
      app.add_subcommand("help", "Shows the settings of a job's or study's file, each with type, default and meaning");
  verb->add_option("topic", options->topic, "job or study")->required();
  verb->add_option("part", options->part, "a setting, or a part of the job, e.g. train.optimizer (default: all)");
  verb->footer(
      "Examples:\n"
      "  linac help job\n"
      "  linac help job train.optimizer\n"
      "  linac help study\n"
      "In brackets: the kind of model that has the setting.");
  verb->callback([options] {
    if (options->topic == "study") return print_study_settings();
    if (options->topic != "job") {
      throw user_error(
          fmt::format("[help] there is no page '{}'; `linac help job` and `linac help study` show the "
                      "settings of their files, `linac VERB --help` the options of a verb",
                      options->topic));
    }
    print_settings(options->part);
  });
}

}  // namespace linac::cli
