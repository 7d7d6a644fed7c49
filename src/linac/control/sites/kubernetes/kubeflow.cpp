#include "linac/control/sites/kubernetes/kubeflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "linac/base/base/error.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/base/version.h"
#include "linac/control/sites/kubernetes/words.h"
#include "linac/control/sites/scripts.h"

namespace linac::sites {
namespace {

using nlohmann::json;

struct Operator {
  std::string_view word, api, kind;
  const char* container;  // as the operator looks for it
};
constexpr std::array<Operator, 3> kOperators{{
    {"trainjob", "trainer.kubeflow.org/v1alpha1", "TrainJob", "node"},
    {"tfjob", "kubeflow.org/v1", "TFJob", "tensorflow"},
    {"pytorchjob", "kubeflow.org/v1", "PyTorchJob", "pytorch"},
}};

// The operator sets them, each in its way.
constexpr std::array<std::string_view, 6> kPlaces{"RANK",        "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
                                                  "MASTER_ADDR", "MASTER_PORT"};

const Operator& operator_named(const std::string& word) {
  for (const Operator& one : kOperators)
    if (word == one.word) return one;
  throw user_error(fmt::format("[launch] --as {}: is none of trainjob, tfjob, pytorchjob", word));
}

std::string operator_worker(const KubernetesSettings& settings, const Launch& launch, const Operator& by) {
  std::string text =
      fmt::format("#!/bin/sh\n# A worker of {}, by linac {}, for a {}.\n", launch.label, kVersion, by.kind);
  text += environment_script(settings);
  if (by.word == "trainjob")
    text +=
        "export RANK=\"$PET_NODE_RANK\" WORLD_SIZE=\"$PET_NNODES\" MASTER_ADDR=\"$PET_MASTER_ADDR\" "
        "MASTER_PORT=\"$PET_MASTER_PORT\" LOCAL_RANK=0 LOCAL_WORLD_SIZE=1\n";
  const std::string out = shell_word(launch.out);
  if (!launch.script)
    return text + fmt::format("exec {} train /linac/job.yaml --out {} --resume-or-start --workers {}\n",
                              shell_word(settings.program), out, workers_word(launch));
  const Script& script = *launch.script;
  text += fmt::format(
      "mkdir -p {0} && cd {0} || exit 4\nexport LINAC_OUT={0} LINAC_SCRIPT=/script/training-script.py\n", out);
  if (!script.requirements.empty())
    text += fmt::format(
        "{} -m pip install --quiet --target /scratch/packages -r /linac/requirements.txt || exit 4\n"
        "export PYTHONPATH=/scratch/packages\n",
        shell_word(settings.python));
  text += script.entry.empty() ? fmt::format("exec {} -u /script/training-script.py", shell_word(settings.python))
                               : "exec bash -e /linac/entry.sh";
  for (const std::string& word : script.arguments) text += " " + shell_word(word);
  return text + "\n";
}

// Of the Job's pods, without what is the Job's.
json operator_template(const Launch& launch, const json& job, const Operator& by) {
  json pod = job.at("spec").at("template");
  pod["spec"].erase("subdomain");
  pod["spec"].erase("restartPolicy");
  json& worker = pod["spec"]["containers"][0];
  worker["name"] = by.container;
  worker["command"] = {"sh", "/linac/worker.sh"};
  json env = json::array();
  for (const json& one : worker["env"])
    if (std::ranges::find(kPlaces, text_of(one, "name")) == kPlaces.end()) env.push_back(one);
  if (by.word == "pytorchjob")
    for (const auto& [name, value] : {std::pair{"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}})
      env.push_back({{"name", name}, {"value", value}});
  worker["env"] = env;
  if (by.word != "trainjob") {
    const int port = launch.script && launch.script->port > 0 ? launch.script->port : by.word == "tfjob" ? 2222 : 23456;
    worker["ports"] = json::array({{{"name", std::string(by.word) + "-port"}, {"containerPort", port}}});
  }
  return pod;
}

json replica(const json& pod, int count) {
  return {{"replicas", count}, {"restartPolicy", "OnFailure"}, {"template", pod}};
}

json v1_spec(const KubernetesSettings& settings, const Launch& launch, const json& job, const Operator& by) {
  const json pod = operator_template(launch, job, by);
  json policy{{"cleanPodPolicy", "All"}, {"backoffLimit", settings.restarts}, {"suspend", !settings.queue.empty()}};
  if (job["spec"].contains("activeDeadlineSeconds"))
    policy["activeDeadlineSeconds"] = job["spec"]["activeDeadlineSeconds"];
  json replicas = json::object();
  if (by.word == "pytorchjob") {
    if (launch.script && launch.script->ps > 0)
      throw user_error("[spawn] --as pytorchjob: it has no parameter servers; leave --ps out");
    replicas["Master"] = replica(pod, 1);
    if (launch.workers > 1) replicas["Worker"] = replica(pod, launch.workers - 1);
    return {{"runPolicy", policy}, {"pytorchReplicaSpecs", replicas}};
  }
  const int workers = launch.script ? launch.script->workers : launch.workers;
  replicas["Worker"] = replica(pod, workers);
  if (launch.script && launch.script->chief) replicas["Chief"] = replica(pod, 1);
  if (launch.script && launch.script->ps > 0) replicas["PS"] = replica(pod, launch.script->ps);
  return {{"runPolicy", policy}, {"tfReplicaSpecs", replicas}};
}

json v2_spec(const KubernetesSettings& settings, const Launch& launch, const json& job, const Operator& by) {
  if (launch.script && (launch.script->ps > 0 || launch.script->chief))
    throw user_error("[spawn] --as trainjob: its nodes are all alike; leave --chief and --ps out");
  const json spec = operator_template(launch, job, by).at("spec"), &worker = spec.at("containers")[0];
  json trainer{
      {"numNodes", launch.workers}, {"image", worker["image"]}, {"command", worker["command"]}, {"env", worker["env"]}};
  if (!worker["resources"].empty()) trainer["resourcesPerNode"] = worker["resources"];
  json overrides{{"targetJobs", json::array({{{"name", by.container}}})},
                 {"volumes", spec["volumes"]},
                 {"containers", json::array({{{"name", by.container}, {"volumeMounts", worker["volumeMounts"]}}})}};
  for (const char* key : {"nodeSelector", "tolerations", "serviceAccountName"})
    if (spec.contains(key)) overrides[key] = spec[key];
  return {{"runtimeRef", {{"name", "torch-distributed"}}},
          {"suspend", !settings.queue.empty()},
          {"trainer", trainer},
          {"podSpecOverrides", json::array({overrides})}};
}

}  // namespace

std::string kubeflow_yaml(const KubernetesSettings& settings, const Launch& launch, KubernetesObjects objects,
                          const std::string& kind) {
  const Operator& by = operator_named(kind);
  objects.config_map["data"]["worker.sh"] = operator_worker(settings, launch, by);
  json& data = objects.config_map["data"];
  for (auto file = data.begin(); file != data.end();) {  // the runner has no place there
    const bool ours = file.key().starts_with("spawn_") || file.key().starts_with("linac_");
    file = ours ? data.erase(file) : std::next(file);
  }
  const json object{{"apiVersion", by.api},
                    {"kind", by.kind},
                    {"metadata", objects.job["metadata"]},
                    {"spec", by.word == "trainjob" ? v2_spec(settings, launch, objects.job, by)
                                                   : v1_spec(settings, launch, objects.job, by)}};
  return documents_yaml({&objects.config_map, &objects.secret, &object});
}

}  // namespace linac::sites
