#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <random>

#include "linac/base/base/amounts.h"
#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/percent.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/shell_word.h"
#include "linac/cli/common/server_word.h"
#include "linac/cli/common/service_options.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/client/run_copy.h"
#include "linac/control/client/runs.h"
#include "linac/control/study/study_file.h"

namespace linac::cli {
namespace {

using nlohmann::json;

struct SubmitOptions {
  ServiceOptions service;
  std::string job, name, experiment, directory, key, memory, time, after, on;
  std::vector<std::string> overrides, array, depends_on, secrets, tags;
  int64_t priority = 0, cores = 0, gpus = 0, attempts = 5;
  double cost = 0;
  bool follow = false, check = false;
};

int64_t seconds_or_none(const std::string& text) {
  return text.empty() ? 0 : seconds_of("[submit] --time", text);
}

int64_t megabytes_or_none(const std::string& text) {
  return text.empty() ? 0 : megabytes_of("[submit] --memory", text);
}

std::string random_key() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}", device(), device(), device());
}

/// What a job and a study have in common.
json common_body_of(const SubmitOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  if (!options.secrets.empty()) overrides.push_back(fmt::format("secrets=[{}]", fmt::join(options.secrets, ", ")));
  const std::filesystem::path directory =
      options.directory.empty() ? std::filesystem::path(".") : std::filesystem::path(options.directory);
  return {{"file", options.job},
          {"folder", std::filesystem::absolute(options.job).lexically_normal().parent_path().string()},
          {"directory", std::filesystem::absolute(directory).lexically_normal().string()},
          {"set", overrides},
          {"experiment", options.experiment},
          {"priority", options.priority},
          {"cores", options.cores},
          {"memory_mb", megabytes_or_none(options.memory)},
          {"gpus", options.gpus},
          {"seconds_max", seconds_or_none(options.time)},
          {"cost_max", options.cost},
          {"on", options.on},
          {"tags", options.tags},
          {"check_only", options.check}};
}

json body_of(const SubmitOptions& options, client::ServiceClient& service, const std::string& text) {
  json array = json::array();
  for (const auto& member : client::array_members(options.array)) array.push_back({{"set", member}});
  json depends_on = json::array();
  for (const std::string& run : options.depends_on) depends_on.push_back(client::find_run(service, run));
  json body = common_body_of(options);
  body.update({{"job", text},
               {"array", array},
               {"name", options.name},
               {"depends_on", depends_on},
               {"attempts_max", options.attempts},
               {"key", options.key.empty() ? random_key() : options.key}});
  return body;
}

// The key, and a study's name, make it harmless to ask again where the answer was lost.
json submit(client::ServiceClient& service, const std::string& path, const json& body) {
  constexpr int kTries = 3;
  for (int tries = 1;; ++tries) {
    try {
      return service.post(path, body);
    } catch (const Error& error) {
      const bool broke_off = std::string_view(error.what()).find("broke off") != std::string_view::npos;
      if (error.code() != ErrorCode::kEnvironment || !broke_off || tries == kTries) throw;
    }
  }
}

// What a run has made, as commands that fetch it: its model, if it left one, and all its files.
void print_fetch_commands(client::ServiceClient& service, const json& run, bool alone) {
  const std::string id = run.at("id"), shown = id.substr(0, 8), name = run.at("name");
  const std::string program =
      taken_server().empty() ? "linac" : fmt::format("linac --server {}", shell_word(std::string(taken_server())));
  std::vector<std::string> commands;
  for (const client::ListedFile& file : client::files_of_run(service, id, "models")) {
    if (file.folder) continue;
    const std::string leaf = std::filesystem::path(file.path).filename().string();
    const std::string to = alone ? "" : " " + shell_word(shown + "-" + leaf);
    commands.push_back(fmt::format("artifacts get {} {}{}", shown, shell_word(file.path), to));
  }
  if (!commands.empty()) commands.push_back(fmt::format("models register {} --name {}", shown, shell_word(name)));
  commands.push_back(fmt::format("artifacts list {} --all", shown));
  fmt::print("what it has made:\n");
  for (const std::string& command : commands) fmt::print("  {} {}\n", program, command);
}

// Its trials are jobs of the queue, which the service submits.
void submit_study(const SubmitOptions& options, const std::string& text) {
  const auto refuse = [](const char* flag, const std::string& why) {
    throw user_error(fmt::format("[submit] {}: {}", flag, why));
  };
  if (!options.array.empty()) refuse("--array", "a study's trials are its array; search the key instead");
  if (!options.depends_on.empty()) refuse("--depends-on", "a study begins at once; submit it when those have ended");
  if (!options.key.empty()) refuse("--key", "the name of a study makes it one; give --name");
  if (options.attempts != SubmitOptions{}.attempts) refuse("--attempts", "of a study's trials budget.attempts says it");
  if (options.follow)
    refuse("--follow", "a study has many logs; `linac study show NAME --server URL` shows its trials");
  // Before anything is sent: the job with the first and the last value of each parameter.
  const study::Study study = study::parse_study(text, options.job, {});
  study::check_for_queue(study);
  const std::string name = options.name.empty() ? std::filesystem::path(options.job).stem().string() : options.name;
  client::ServiceClient service = options.service.connect();
  json body = common_body_of(options);
  body["study"] = text;
  const json answer = submit(service, fmt::format("/api/v1/studies/{}/submit", percent_encoded(name)), body);
  if (options.service.json) {
    fmt::print("{}\n", answer.dump(2));
  } else if (options.check) {
    fmt::print("the study would be submitted\n");
  } else {
    fmt::print("{}: {} of {} are told; `linac study show {} --server {}` shows them, `linac study stop` ends it\n",
               name, answer.at("told").get<int64_t>(), plural(study.settings.budget.trials, "trial"), name,
               client::find_login(options.service.server).server);
  }
}

void run_submit(const SubmitOptions& options) {
  const std::string text = read_file(options.job);
  if (study::is_study(text)) return submit_study(options, text);
  client::ServiceClient service = options.service.connect();
  const json answer = submit(service, "/api/v1/jobs", body_of(options, service, text));
  const json& runs = answer.at("runs");
  if (options.service.json) fmt::print("{}\n", answer.dump(2));
  if (options.check) {
    if (!options.service.json) fmt::print("the job would be queued\n");
    return;
  }
  if (!options.service.json)
    for (const json& run : runs)
      fmt::print("{}  {}\n", run.at("id").get<std::string>(), run.at("name").get<std::string>());
  if (!options.follow) return;
  int status = 0;
  for (const json& run : runs) {
    const std::string id = run.at("id");
    std::fflush(stdout);
    const std::string state = client::print_log(service, id, 0, true);
    const std::string reason = service.get("/api/v1/runs/" + id).at("reason");
    fmt::print("{}  {}{}\n", id, state, reason.empty() ? "" : ": " + reason);
    if (status == 0) status = client::exit_status(state);
    if (client::exit_status(state) == 0 && !options.service.json) print_fetch_commands(service, run, runs.size() == 1);
  }
  if (status != 0) throw CLI::RuntimeError(status);
}

}  // namespace

void add_submit_verb(CLI::App& app) {
  auto options = std::make_shared<SubmitOptions>();
  auto* verb = app.add_subcommand("submit", "Puts a job, or the trials of a study, into the queue of a service");
  verb->add_option("job", options->job, "job file, or study file (YAML): then the queue carries out its trials")
      ->required()
      ->check(CLI::ExistingFile);
  verb->add_option("--set", options->overrides, "override a setting of the job: key=value")
      ->type_size(1)
      ->allow_extra_args(false);
  verb->add_option("--array", options->array,
                   "one job for each value: key=A,B,C or key=1..8; given twice: all combinations")
      ->type_size(1)
      ->allow_extra_args(false);
  verb->add_option("--secrets", options->secrets,
                   "names of yours (`linac secrets`) that it is given: the job's setting of that name")
      ->delimiter(',');
  verb->add_option("--on", options->on,
                   "pilots: hosts whose agents ask for work (`linac agent`); or a site that the service has; default: "
                   "the service's host");
  verb->add_option("--tags", options->tags, "with --on pilots: that the agent must have")->delimiter(',');
  verb->add_option("--name", options->name, "of the run (default: the job's), or of the study (default: its file's)");
  verb->add_option("--experiment", options->experiment, "put it there; made if there is none (default: Default)");
  verb->add_option("--depends-on", options->depends_on, "runs (names or ids) that have to succeed first")
      ->delimiter(',');
  verb->add_option("--priority", options->priority, "larger first; more than 0 is for admins");
  verb->add_option("--cores", options->cores, "default: workers x train.threads of the job");
  verb->add_option("--memory", options->memory, "limit of each process, e.g. 16G");
  verb->add_option("--gpus", options->gpus,
                   "default, for train.device = cuda: as many as distribution.devices_per_worker says, else 1");
  verb->add_option("--time", options->time, "after so long (e.g. 90s, 30m, 12h) it writes a checkpoint and stops");
  verb->add_option("--cost", options->cost, "the same by what it costs, where the service knows a price");
  verb->add_option("--attempts", options->attempts, "so often it is started when it is lost or preempted (default: 5)");
  verb->add_option(
      "--directory", options->directory,
      "relative paths that are not beside the job file, and those of --set, are below it (default: this folder)");
  verb->add_option("--key", options->key, "a second submission with the same key gives the run of the first");
  verb->add_flag("--check", options->check, "only say whether it would be queued");
  verb->add_flag("-f,--follow", options->follow, "show its log, and end as it ends");
  add_service_options(*verb, options->service);
  verb->footer(
      "Examples:\n"
      "  linac submit examples/topology.yaml --follow\n"
      "  linac submit examples/demo.yaml --set train.epochs=20 --time 2h --name long\n"
      "  linac submit examples/topology.yaml --array train.seed=1..5 --experiment seeds\n"
      "  linac submit fine-tune.yaml --depends-on long\n"
      "  linac submit job.yaml --on pilots --tags site=T2,gpu --time 6h\n"
      "  linac submit job.yaml --on farm --time 12h\n"
      "  linac submit tune.yaml --on farm --name rates      # a study: as many trials at a time as its `parallel` "
      "says\n"
      "  linac submit job.yaml --secrets AWS_ACCESS_KEY_ID,AWS_SECRET_ACCESS_KEY");
  verb->callback([options] { run_submit(*options); });
}

}  // namespace linac::cli
