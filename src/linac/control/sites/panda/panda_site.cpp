// Sites of the kind panda: a launch is one task of PanDA, whose name is the launch's (docs/guide/launch.md).

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/base/base/utf8.h"
#include "linac/control/sites/abilities.h"
#include "linac/control/sites/image.h"
#include "linac/control/sites/memory.h"
#include "linac/control/sites/panda/api.h"
#include "linac/control/sites/panda/payload.h"
#include "linac/control/sites/panda/settings.h"
#include "linac/control/sites/panda/task.h"
#include "linac/control/sites/panda/words.h"
#include "linac/control/sites/site.h"

namespace linac::sites {
namespace {

using nlohmann::json;

constexpr int kSubmitTriesMax = 4;
constexpr auto kPause = std::chrono::milliseconds(500);  // before the second try; each one waits twice as long

class PandaSite : public Site, public KeepsRuns {
 public:
  PandaSite(std::string name, std::string where, PandaSettings settings)
      : Site(std::move(name), std::move(where)), settings_(std::move(settings)) {}
  const CommonSettings& common() const override { return settings_; }

  // The states of a task change within minutes, and the server is everybody's.
  Facts facts() const override;
  std::vector<PlannedStep> plan(const Launch& launch) const override { return {{"", task_of(launch).dump(2)}}; }
  std::vector<Finding> check(const job::Job* job) const override;
  std::string own_place(const std::string& label) const override { return panda_run_data_set(settings_, label); }
  std::string submit(const Launch& launch) const override;
  Standing standing(const Record& record) const override;
  std::string cancel(const Record& record) const override;
  void reopen(const Record& record) const override;
  std::string log(const Record& record, int64_t from) const override;

 private:
  PandaApi api() const { return {find_panda_access(settings_, place()), place()}; }
  json task_of(const Launch& launch) const {
    need_place(launch);
    return panda_task(settings_, panda_server(settings_), launch, place());
  }
  void need_place(const Launch& launch) const;
  std::string found(PandaApi& api, const json& task) const;
  json task_with(PandaApi& api, const Record& record) const;
  void command(PandaApi& api, const std::string& path, const Record& record, const std::string& what) const;

  PandaSettings settings_;
};

Facts PandaSite::facts() const {
  Facts facts{.workers = 1,
              .workers_a_host = kAllWorkers,
              .pause = std::chrono::seconds(20),
              .carries_agents = true,
              .excludes = false};
  if (!settings_.memory.empty())
    facts.memory = {{gib_of_slurm(settings_.memory), kAllWorkers, "memory: " + settings_.memory}};
  return facts;
}

void PandaSite::need_place(const Launch& launch) const {
  if (launch.agents && settings_.agents.empty())
    throw user_error(fmt::format("{}.agents: empty; name the address of the service whose work they take", place()));
  if (!launch.agents && !launch.script && !launch.out.starts_with("s3://") && launch.out != own_place(launch.label))
    throw user_error(
        fmt::format("{}: --out {}: a job of a grid has no folder that stays; name s3://BUCKET/FOLDER, or "
                    "leave it out for a data set",
                    place(), printable(launch.out)));
}

std::vector<Finding> PandaSite::check(const job::Job* job) const {
  std::vector<Finding> all;
  const auto add = [&](bool good, const char* what, const std::string& text) { all.push_back({good, what, text}); };
  try {
    PandaApi api = this->api();
    add(true, "credentials", api.access().token.empty() ? api.access().proxy : "a token for " + api.access().vo);
    api.tasks("taskName", panda_task_name(settings_, "linac-check"));
    add(true, "panda", fmt::format("{} answers", api.access().server));
  } catch (const Error& error) {
    add(false, "panda", error.what());
  }
  add(true, "program",
      (settings_.archive.empty() ? settings_.container : settings_.archive) +
          ": not looked at from here; the job does");
  if (settings_.archive.empty() && settings_.container.find("://") != std::string::npos)
    all.push_back(ask_registry(settings_.container));
  if (job == nullptr) return all;
  try {
    Launch launch{.label = "linac-check", .job = job::to_yaml(*job), .out = {}, .key = {}};
    for (const PandaInput& input : panda_inputs(launch, place()))
      for (const std::string& name : input.names) add(true, "data", name + ": PanDA brings it to the job");
  } catch (const Error& error) {
    add(false, "data", error.what());
  }
  return all;
}

// The number of the task of that name which the server has and which has not been given up; "" if there is none.
std::string PandaSite::found(PandaApi& api, const json& task) const {
  const std::string name = task.at("taskName").get<std::string>();
  int64_t newest = 0;
  for (const json& other : api.tasks("taskName", name)) {
    const auto number = other.find("jediTaskID"), its_name = other.find("taskName");
    if (number == other.end() || !number->is_number_integer()) continue;
    if (its_name == other.end() || *its_name != name) continue;
    newest = std::max(newest, number->get<int64_t>());
  }
  if (newest == 0) return "";
  // It has the name: is it this launch?
  const auto answer = api.get("task/get_task_parameters", {{"task_id", std::to_string(newest)}});
  if (answer.success && what_task_does(answer.data) != what_task_does(task))
    throw user_error(fmt::format("{}: task {} of the name {} is another launch; choose another --name", place(), newest,
                                 printable(name)));
  return std::to_string(newest);
}

// The name makes a submission safe to repeat: it is looked for before, and the server takes none twice.
std::string PandaSite::submit(const Launch& launch) const {
  const json task = task_of(launch);
  PandaApi api = this->api();
  auto pause = kPause;
  for (int tries = 1;; ++tries) {
    if (const std::string before = found(api, task); !before.empty()) return before;
    const auto answer = api.post("task/submit", {{"task_parameters", task}, {"parent_tid", nullptr}});
    if (answer && answer->success) {
      if (const int64_t number = submitted_task(answer->data, answer->message); number > 0)
        return std::to_string(number);
    } else if (answer) {
      constexpr int64_t kOfDeft = 1, kOfJedi = 2;  // it has one of that name
      const bool duplicate = answer->code == kOfDeft || answer->code == kOfJedi;
      if (!duplicate)
        throw environment_error(fmt::format("{}: PanDA does not take the task (code {}: {})", place(), answer->code,
                                            printable(answer->message)));
      if (const std::string before = found(api, task); !before.empty()) return before;
      throw environment_error(
          fmt::format("{}: PanDA has a task of the name {} and does not show it ({}); choose "
                      "another --name",
                      place(), panda_task_name(settings_, launch.label), printable(answer->message)));
    }
    if (tries == kSubmitTriesMax)
      throw environment_error(
          fmt::format("{}: nobody knows whether the task was submitted ({}); the same `linac launch` goes on with it",
                      place(), answer ? "an answer without its number" : api.trouble()));
    std::this_thread::sleep_for(pause);
    pause *= 2;
  }
}

json PandaSite::task_with(PandaApi& api, const Record& record) const {
  for (json& task : api.tasks("jediTaskID", record.id))
    if (task.contains("jediTaskID")) return task;
  return nullptr;
}

Standing PandaSite::standing(const Record& record) const {
  PandaApi api = this->api();
  const json task = task_with(api, record);
  if (task.is_null())
    return {job::RunState::kLost, fmt::format("PanDA shows you no task {} (any more)", record.id), {}};
  Standing standing = panda_standing(task);
  standing.details.emplace_back("page", fmt::format("{}/task/{}/", settings_.monitor, record.id));
  return standing;
}

void PandaSite::command(PandaApi& api, const std::string& path, const Record& record, const std::string& what) const {
  const auto answer = api.post(path, {{"task_id", submitted_task(nullptr, "jediTaskID=" + record.id)}});
  if (!answer) throw environment_error(fmt::format("{}: {} ({}); ask again", place(), what, api.trouble()));
  if (!answer->success)
    throw environment_error(
        fmt::format("{}: {} (code {}: {})", place(), what, answer->code, printable(answer->message)));
}

std::string PandaSite::cancel(const Record& record) const {
  PandaApi api = this->api();
  const json task = task_with(api, record);
  if (task.is_null() || job::ended(panda_standing(task).state)) return "nothing of it runs";
  command(api, "task/kill", record, "it cannot be cancelled");
  return record.out.starts_with("s3://")
             ? "PanDA ends it: its pilot asks it to write a checkpoint and stop, at its next heartbeat"
             : "PanDA ends it, and nothing of it is kept: only a run with --out s3://BUCKET/FOLDER leaves a checkpoint";
}

void PandaSite::reopen(const Record& record) const {
  PandaApi api = this->api();
  command(api, "task/retry", record, "PanDA does not start it again");
}

std::string PandaSite::log(const Record& record, int64_t from) const {
  PandaApi api = this->api();
  std::string text = fmt::format("PanDA hands out no log while jobs run; the task's page: {}/task/{}/\n",
                                 settings_.monitor, record.id);
  const json task = task_with(api, record);
  if (!task.is_null() && job::ended(panda_standing(task).state)) {
    const auto answer = api.get("task/get_job_descriptions", {{"task_id", record.id}, {"unsuccessful_only", "False"}});
    if (answer.success) text += panda_job_lines(answer.data);
    text += fmt::format("the log of its jobs: rucio download {}.{}.log\n", settings_.prefix, record.label);
    if (record.out.starts_with("rucio://"))
      text += fmt::format("the run's folder, if it has succeeded: rucio download {}\n",
                          record.out.substr(std::string("rucio://").size()));
  }
  return text.substr(std::min(text.size(), static_cast<size_t>(std::max<int64_t>(0, from))));
}

std::unique_ptr<Site> make_panda_site(const YAML::Node& node, const std::string& where, const std::string& name) {
  PandaSettings settings;
  config::read(node, settings, where, name + ".");
  check_panda(settings, "[sites] " + where + ": " + name);
  return std::make_unique<PandaSite>(name, where, settings);
}

}  // namespace

Kind panda_kind() {
  return {"panda", "a grid whose jobs PanDA carries out", make_panda_site,
          [] { return config::describe(PandaSettings{}); }};
}

}  // namespace linac::sites
