#include "linac/control/study/trial_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/child_process.h"
#include "linac/base/base/config.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/sole_lock.h"
#include "linac/control/execution/submission.h"
#include "linac/control/study/file_error.h"
#include "linac/control/tune/point_json.h"

namespace linac::study {
namespace {

using nlohmann::json;

constexpr size_t kLogEnd = 16384;

/// Held by all processes of a trial: the open file is theirs too.
Descriptor lock_of(const std::filesystem::path& folder) {
  const auto path = folder / "lock";
  Descriptor lock = above_streams(Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644)));
  if (!lock) throw cannot(path, "opened");
  if (!lock_alone(lock.get(), kForever)) throw cannot(path, "locked");
  return lock;
}

/// What a command of a population needs beside its point.
void write_place(const tune::PopulationSettings& settings, const tune::Trial& trial,
                 const std::filesystem::path& trials, const std::filesystem::path& folder) {
  const tune::Population population(settings);
  const json from = trial.parent == 0 ? json() : json(trial_folder(trials, trial.parent).string());
  write_file_atomically(folder / "member.json", json{{"member", population.member_of(trial.number) + 1},
                                                     {"interval", population.generation_of(trial.number) + 1},
                                                     {"from", from}}
                                                        .dump(1) +
                                                    "\n");
}

std::string name_of_job(const Study& study) {
  const YAML::Node name = config::parse_text(study.job, "the study's job")["name"];
  return name.IsDefined() && name.IsScalar() ? name.as<std::string>() : "";
}

std::vector<std::string> words_of(const Study& study, const tune::Space& space, const tune::Trial& trial,
                                  const std::filesystem::path& trials, const std::filesystem::path& program) {
  if (!study.command().empty()) return {"/bin/sh", "-c", study.command()};
  // The study's folder has the job, in absolute paths.
  const std::filesystem::path folder = trial_folder(trials, trial.number),
                              job = folder.parent_path().parent_path() / "job.yaml";
  std::vector<std::string> words{program.string(), "train", job.string(), "--out", folder.string()};
  const std::vector<std::string> point = settings_of(space, trial.point);
  if (const std::string all = name_of_job(study); !all.empty()) {
    const std::string name = execution::name_of_member(all, fmt::format("{:04}", trial.number), point);
    words.insert(words.end(), {"--set", "name=" + json(name).dump()});
  }
  for (const std::string& setting : point) words.insert(words.end(), {"--set", setting});
  if (const tune::PopulationSettings& settings = study.settings.population; settings.used()) {
    const int64_t intervals = tune::Population(settings).generation_of(trial.number) + 1;
    words.insert(words.end(), {"--set", fmt::format("train.epochs={}", intervals * settings.interval)});
  }
  std::error_code none;
  if (std::filesystem::exists(folder / "job.yaml", none))
    words.emplace_back("--resume");
  else if (trial.parent != 0)
    words.insert(words.end(), {"--branch", trial_folder(trials, trial.parent).string()});
  return words;
}

}  // namespace

std::filesystem::path trial_folder(const std::filesystem::path& trials, int64_t number) {
  return std::filesystem::absolute(trials) / fmt::format("{:04}", number);
}

TrialProcess::TrialProcess(const Study& study, const tune::Space& space, const tune::Trial& trial,
                           const std::filesystem::path& trials, const std::filesystem::path& program)
    : study_(&study),
      number_(trial.number),
      folder_(trial_folder(trials, trial.number)),
      record_(study, std::filesystem::weakly_canonical(folder_)) {
  make_folder(folder_);
  const Descriptor lock = lock_of(folder_);
  const bool command = !study.command().empty();
  if (command) {
    write_file_atomically(folder_ / "input.json", tune::to_json(space, trial.point).dump(1) + "\n");
    if (study.settings.population.used()) write_place(study.settings.population, trial, trials, folder_);
    std::filesystem::remove(folder_ / "output.json");
  }
  const auto log_path = folder_ / "log";
  const Descriptor log(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!log) throw cannot(log_path, "written");
  // A group of its own: what a terminal sends to all comes by way of the parent, which knows what it wants.
  ProcessStart start = start_program(
      {.words = words_of(study, space, trial, trials, program), .folder = command ? folder_.string() : ""},
      {.in = ChildSettings::kNothing,
       .out = log.get(),
       .errors = log.get(),
       .inherited = {lock.get()},
       .others = ChildSettings::Others::kKept,
       .leads = ChildSettings::Leads::kGroup,
       .death_signal = SIGTERM});
  // One that could not become its program has ended, as a trial does that fails.
  if (!start.process)
    throw environment_error(
        fmt::format("[study] trial {} cannot be started ({}); set parallel to less", number_, start.why()));
  process_ = std::move(start.process);
}

std::optional<int> TrialProcess::ended() {
  const auto end = process_.ended();
  return end ? std::optional(end->status()) : std::nullopt;
}

void TrialProcess::stop() const {
  process_.send(SIGTERM);
}

void TrialProcess::kill() const {
  process_.kill();
}

std::vector<Measured> TrialProcess::measured() {
  if (study_->job.empty() || !study_->command().empty()) return {};
  return record_.measured();
}

json TrialProcess::output() const {
  const auto path = folder_ / "output.json";
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return nullptr;
  return json::parse(read_file(path), nullptr, false);
}

std::vector<double> TrialProcess::values_of_command(std::string& why) const {
  const json said = output();
  if (said.is_null()) {
    why = "the command left no output.json";
    return {};
  }
  if (!said.is_object()) {
    why = "output.json is no JSON object";
    return {};
  }
  std::vector<double> values;
  for (const std::string& name : study_->objective_names()) {
    if (!said.contains(name) || said.value("status", 0) != 0) {
      why = said.value("message", fmt::format("output.json: a status that is not 0, or no {}", name));
      return {};
    }
    values.push_back(tune::number_from_json(said[name]));
  }
  return values;
}

double TrialProcess::cost() const {
  if (study_->command().empty()) return record_.cost();
  const std::string& key = study_->settings.sampler.cost;
  const json said = output();
  if (key == tune::kSeconds || !said.is_object() || !said.contains(key) || !said[key].is_number()) return std::nan("");
  return possible_cost(said[key].get<double>());
}

std::string TrialProcess::last_words() const {
  std::ifstream log(folder_ / "log", std::ios::binary | std::ios::ate);
  const auto size = static_cast<int64_t>(log.tellg());
  if (size <= 0) return "";
  std::string text(std::min<size_t>(kLogEnd, static_cast<size_t>(size)), '\0');
  log.seekg(-static_cast<int64_t>(text.size()), std::ios::end);
  log.read(text.data(), static_cast<std::streamsize>(text.size()));
  std::string last, error;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (!line.empty()) last = line;
    if (const size_t at = line.find(" E "); at != std::string::npos) error = line.substr(at + 3);
    begin = end + 1;
  }
  return error.empty() ? last : error;
}

}  // namespace linac::study
