#include "linac/control/sites/panda/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "linac/base/base/amounts.h"
#include "linac/base/base/error.h"
#include "linac/base/base/percent.h"
#include "linac/base/base/utf8.h"
#include "linac/control/sites/panda/payload.h"
#include "linac/io/storage/rucio/did.h"

namespace linac::sites {
namespace {

using nlohmann::json;

// The server knows by it how jobs are started.
constexpr const char* kProcessingType = "panda-client-2.2.0-jedi-run";
constexpr size_t kNameMax = 132;           // of a data set; panda-client has it of Rucio
constexpr size_t kCommandMax = 96 * 1024;  // a word of a command line on Linux is 128 KiB
constexpr int kFilesShown = 200;           // of prun: more are no longer passed by the command line

json constant(const std::string& value) {
  return {{"type", "constant"}, {"value", value}};
}

// PanDA makes names of files from the first two words of a data set's.
std::string two_words(const std::string& name) {
  const size_t first = name.find('.'), second = name.find('.', first + 1);
  return name.substr(0, second);
}

json log_of(const std::string& name) {
  const std::string data_set = name + ".log/";
  return {{"dataset", data_set},
          {"container", data_set},
          {"type", "template"},
          {"param_type", "log"},
          {"value", name + ".log.$JEDITASKID.${SN}.log.tgz"}};
}

void add_output(json& parameters, const std::string& name, const std::string& file) {
  const std::string template_name = two_words(name) + ".$JEDITASKID._${SN/P}." + file;
  const std::string data_set = fmt::format("{}_{}/", name, file);
  parameters.push_back({{"type", "template"},
                        {"value", template_name},
                        {"param_type", "output"},
                        {"dataset", data_set},
                        {"container", data_set},
                        {"hidden", true}});
  parameters.push_back(constant(fmt::format("-o \"{{'{}': '{}'}}\"", file, template_name)));
}

void add_command(json& parameters, const std::string& command) {
  json begin = constant("-p \""), middle = constant(percent_encoded(command, true));
  begin["padding"] = middle["padding"] = false;
  parameters.push_back(begin);
  parameters.push_back(middle);
  parameters.push_back(constant("\""));
}

// The first of them splits the task into jobs, of which there is one; the others go with it.
void add_inputs(json& task, json& parameters, const std::vector<PandaInput>& inputs, int files) {
  if (inputs.empty()) {
    task["noInput"] = true;
    return;
  }
  const std::string names = fmt::format("{}", fmt::join(inputs[0].names, ","));
  parameters.push_back({{"type", "template"},
                        {"param_type", "input"},
                        {"value", "-i \"${IN/T}\""},
                        {"dataset", names},
                        {"exclude", R"(\.log\.tgz(\.\d+)*$)"},
                        {"expand", true}});
  task["dsForIN"] = names;
  task["nFiles"] = task["nFilesPerJob"] = files;
}

void add_secondary(json& task, json& parameters, const std::vector<PandaInput>& inputs, int files) {
  if (inputs.size() < 2) return;
  std::string map;
  for (const PandaInput& input : inputs) {
    map += fmt::format("{}'{}': ${{{}/T}}", map.empty() ? "" : ", ", input.stream, input.stream);
    if (&input == &inputs[0]) continue;
    parameters.push_back({{"type", "template"},
                          {"value", "${" + input.stream + "}"},
                          {"param_type", "input"},
                          {"dataset", fmt::format("{}", fmt::join(input.names, ","))},
                          {"expand", true},
                          {"nFilesPerJob", files},
                          {"hidden", true}});
  }
  parameters.push_back(constant(fmt::format("--inMap \"{{{}}}\"", map)));
  task["reuseSecOnDemand"] = true;
}

void add_container(json& task, const std::string& image) {
  task["container_name"] = image;
  task["multiStepExec"] = {
      {"preprocess", {{"command", "${TRF}"}, {"args", "--preprocess ${TRF_ARGS}"}}},
      {"postprocess", {{"command", "${TRF}"}, {"args", "--postprocess ${TRF_ARGS}"}}},
      {"containerOptions",
       {{"containerExec",
         "echo \"=== cat exec script ===\"; cat __run_main_exec.sh; echo; echo \"=== exec script ===\"; "
         "/bin/sh __run_main_exec.sh"},
        {"containerImage", image}}}};
}

void add_resources(json& task, const PandaSettings& settings, const Launch& launch) {
  if (settings.cpus > 1) task["coreCount"] = settings.cpus;
  if (!settings.memory.empty()) {
    task["ramCount"] = (megabytes_of("memory", settings.memory) + settings.cpus - 1) / settings.cpus;
    task["ramCountUnit"] = "MBPerCore";
  }
  const int64_t seconds = launch.seconds_max > 0  ? launch.seconds_max
                          : settings.time.empty() ? 0
                                                  : seconds_of("time", settings.time);
  if (seconds > 0) task["maxWalltime"] = (seconds + 3599) / 3600;
  task["maxAttempt"] = settings.attempts;
}

void add_places(json& task, const PandaSettings& settings) {
  task["site"] = settings.sites.size() == 1 ? json(settings.sites[0]) : json();
  task["includedSite"] = settings.sites.size() > 1 ? json(settings.sites) : json();
  task["excludedSite"] = settings.excluded_sites;
}

}  // namespace

std::string panda_task_name(const PandaSettings& settings, const std::string& label) {
  return settings.prefix + "." + label + "/";
}

std::string panda_run_data_set(const PandaSettings& settings, const std::string& label) {
  return fmt::format("rucio://{}:{}.{}_{}", two_words(settings.prefix), settings.prefix, label, kPandaOutput);
}

json panda_task(const PandaSettings& settings, const PandaAccess& server, const Launch& launch,
                const std::string& place) {
  if (launch.script)
    throw user_error(place + ": scripts are not brought to PanDA; prun does that, and workers cannot meet there");
  const std::string name = settings.prefix + "." + launch.label;
  const std::vector<PandaInput> inputs = panda_inputs(launch, place);
  const std::string output = panda_output(launch);
  if (name.size() + std::string("_.log/").size() + output.size() > kNameMax)
    throw user_error(fmt::format("{}: the name {} is longer than Rucio takes; choose a shorter --name", place, name));
  const std::string command = panda_command(panda_script(settings, launch, inputs, place), inputs);
  if (percent_encoded(command, true).size() > kCommandMax)
    throw user_error(
        fmt::format("{}: the job file, resolved and with its scaling, has {} KiB compressed, and a task "
                    "takes {}; shorten it",
                    place, command.size() / 1024, kCommandMax / 1024));

  json task{{"taskName", panda_task_name(settings, launch.label)},
            {"uniqueTaskName", true},
            {"vo", settings.vo},
            {"architecture",
             settings.architecture.empty() && settings.container.empty() ? json() : json(settings.architecture)},
            {"transUses", ""},
            {"transHome", nullptr},
            {"processingType", kProcessingType},
            {"prodSourceLabel", "user"},
            {"cliParams", fmt::format("linac {} {}", launch.agents ? "agents start" : "launch", launch.label)},
            {"nMaxFilesPerJob", std::max(kFilesShown, settings.files)},
            {"respectSplitRule", true},
            {"sourceURL", server.source_url},
            {"log", log_of(name)}};
  add_places(task, settings);
  add_resources(task, settings, launch);
  if (!settings.working_group.empty()) task["workingGroup"] = settings.working_group;
  if (!settings.secrets.empty() || launch.agents) task["useSecrets"] = true;
  if (!settings.container.empty()) add_container(task, settings.container);
  if (inputs.empty()) {
    task["nEvents"] = launch.agents ? launch.workers : 1;
    task["nEventsPerJob"] = 1;
  }

  json parameters{constant("-j \"\" --sourceURL ${SURL}"), constant("-r ."), constant("__delimiter__")};
  parameters.back()["hidden"] = true;
  if (!settings.archive.empty()) {
    const storage::rucio::Did did = storage::rucio::parse_did(settings.archive);
    task["tarBallViaDDM"] = did.scope + ":" + did.name;
    parameters.push_back(constant(fmt::format("-a {} --noTarballDownload", did.name)));
  }
  if (!output.empty()) add_output(parameters, name, output);
  add_inputs(task, parameters, inputs, settings.files);
  add_command(parameters, command);
  add_secondary(task, parameters, inputs, settings.files);
  task["jobParameters"] = parameters;
  for (const auto& [key, value] : settings.task) {
    const json parsed = json::parse(value, nullptr, false);
    task[key] = parsed.is_discarded() ? json(value) : parsed;
  }
  return task;
}

std::string what_task_does(const json& task) {
  return task.is_object() && task.contains("jobParameters") ? task["jobParameters"].dump() : "";
}

}  // namespace linac::sites
