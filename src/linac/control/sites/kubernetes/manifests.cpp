#include "linac/control/sites/kubernetes/manifests.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>

#include "linac/base/base/amounts.h"
#include "linac/base/base/error.h"
#include "linac/base/base/fnv1a.h"
#include "linac/base/job/exit_codes.h"
#include "linac/control/sites/exclude.h"
#include "linac/control/sites/kubernetes/pod_file.h"
#include "linac/control/sites/kubernetes/spot.h"
#include "linac/control/sites/script/script_files.h"
#include "linac/control/sites/scripts.h"

namespace linac::sites {
namespace {

using nlohmann::json;

constexpr size_t kNameMax = 52;  // a pod's host name is this, '-' and the worker's number: 63 letters at most
constexpr int kTfSpawnerPort = 1999;
constexpr int kKeptSeconds = 24 * 3600;  // of the objects of a script that has ended, its secrets among them
constexpr const char* kTagLabel = "training_attempt";  // as TF-Spawner marks what it makes
constexpr size_t kTagMax = 63;
constexpr size_t kConfigMapMax = 1000 << 10;  // Kubernetes takes 1 MiB, the names and the rest included

json metadata(const KubernetesSettings& settings, const Launch& launch, const std::string& name) {
  json meta{{"name", name},
            {"namespace", settings.name_space},
            {"labels",
             {{kLaunchLabel, name}, {"app.kubernetes.io/name", "linac"}, {"app.kubernetes.io/managed-by", "linac"}}}};
  if (launch.script) {
    const bool fits =
        launch.label.size() <= kTagMax && std::isalnum(static_cast<unsigned char>(launch.label.back())) != 0;
    meta["labels"][kTagLabel] = fits ? launch.label : name;
  }
  return meta;
}

int script_port(const Launch& launch) {
  return launch.script->port > 0 ? launch.script->port : kTfSpawnerPort;
}

json secret_variable(const std::string& variable, const std::string& secret, const std::string& key) {
  return {{"name", variable}, {"valueFrom", {{"secretKeyRef", {{"name", secret}, {"key", key}}}}}};
}

json variables(const KubernetesSettings& settings, const Launch& launch, const std::string& name) {
  json all = json::array();
  const auto add = [&](const char* variable, const std::string& value) {
    all.push_back({{"name", variable}, {"value", value}});
  };
  all.push_back({{"name", "RANK"},
                 {"valueFrom",
                  {{"fieldRef",
                    {{"apiVersion", "v1"},
                     {"fieldPath", "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}}}}});
  add("WORLD_SIZE", std::to_string(launch.workers));
  add("LOCAL_RANK", "0");
  add("LOCAL_WORLD_SIZE", "1");
  add("MASTER_ADDR", fmt::format("{0}-0.{0}", name));
  add("MASTER_PORT", std::to_string(settings.port));
  // The image's user may have no home, and its root may be read only.
  add("HOME", "/scratch");
  add("TMPDIR", "/scratch");
  all.push_back(secret_variable("LINAC_RUN_KEY", name, "LINAC_RUN_KEY"));
  if (launch.script)
    for (const auto& [variable, value] : launch.script->environment)
      all.push_back(secret_variable(variable, name, variable));
  for (const auto& [variable, reference] : settings.secrets) {
    const size_t slash = reference.find('/');
    all.push_back(reference.starts_with("env:")
                      ? secret_variable(variable, name, variable)
                      : secret_variable(variable, reference.substr(0, slash), reference.substr(slash + 1)));
  }
  return all;
}

json resources(const KubernetesSettings& settings) {
  json limits = json::object();
  if (!settings.cpus.empty()) limits["cpu"] = settings.cpus;
  if (!settings.memory.empty()) limits["memory"] = settings.memory;
  if (settings.gpus > 0) limits[settings.gpu_resource] = std::to_string(settings.gpus);
  if (limits.empty()) return limits;
  return {{"limits", limits}, {"requests", limits}};
}

json container(const KubernetesSettings& settings, const Launch& launch, const std::string& name) {
  json worker{{"name", "worker"},
              {"image", settings.image},
              {"imagePullPolicy", settings.image_pull_policy},
              {"command", {"bash", "/linac/worker.sh"}},
              {"env", variables(settings, launch, name)},
              {"resources", resources(settings)},
              {"terminationMessagePath", "/dev/termination-log"},
              {"terminationMessagePolicy", "FallbackToLogsOnError"}};
  worker["volumeMounts"] = {{{"name", "launch"}, {"mountPath", "/linac"}, {"readOnly", true}},
                            {{"name", "scratch"}, {"mountPath", "/scratch"}}};
  if (!settings.volume.empty()) worker["volumeMounts"].push_back({{"name", "runs"}, {"mountPath", settings.folder}});
  if (launch.script) {
    worker["command"] = {"sh", "/linac/worker.sh"};
    worker["ports"] = json::array({{{"name", "script"}, {"containerPort", script_port(launch)}}});
    worker["volumeMounts"].push_back({{"name", "script"}, {"mountPath", "/script"}, {"readOnly", true}});
  }
  if (settings.user > 0)
    worker["securityContext"] = {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", {"ALL"}}}}};
  return worker;
}

json volumes(const KubernetesSettings& settings, const Launch& launch, const std::string& name) {
  json all = {{{"name", "launch"}, {"configMap", {{"name", name}, {"defaultMode", 0444}}}},
              {{"name", "scratch"}, {"emptyDir", json::object()}}};
  if (launch.script) {
    const json items = json::array({{{"key", "training-script.py"}, {"path", "training-script.py"}}});
    all.push_back({{"name", "script"}, {"configMap", {{"name", name}, {"defaultMode", 0444}, {"items", items}}}});
  }
  if (settings.volume.empty()) return all;
  const size_t colon = settings.volume.find(':');
  const std::string what = settings.volume.substr(0, colon), which = settings.volume.substr(colon + 1);
  if (what == "pvc")
    all.push_back({{"name", "runs"}, {"persistentVolumeClaim", {{"claimName", which}}}});
  else
    all.push_back({{"name", "runs"}, {"hostPath", {{"path", which}, {"type", "Directory"}}}});
  return all;
}

// "key=value:NoSchedule", "key:NoSchedule", "key=value", "key".
json toleration(const std::string& text) {
  const size_t colon = text.rfind(':');
  const std::string taint = text.substr(0, colon);
  const size_t equals = taint.find('=');
  json one{{"key", taint.substr(0, equals)}, {"operator", equals == std::string::npos ? "Exists" : "Equal"}};
  if (equals != std::string::npos) one["value"] = taint.substr(equals + 1);
  if (colon != std::string::npos) one["effect"] = text.substr(colon + 1);
  return one;
}

// As the label of a node may have them, with the short ones of full names. What can be none would be refused.
std::vector<std::string> node_names(const std::vector<std::string>& hosts) {
  constexpr size_t kLabelMax = 63;
  const auto ends_well = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::vector<std::string> names;
  for (const std::string& host : hosts)
    for (const std::string& name : {host, host.substr(0, host.find('.'))})
      if (!name.empty() && name.size() <= kLabelMax && ends_well(name.front()) && ends_well(name.back()) &&
          std::ranges::find(names, name) == names.end())
        names.push_back(name);
  return names;
}

json pod(const KubernetesSettings& settings, const Launch& launch, const std::string& name) {
  json spec{{"restartPolicy", "Never"},
            {"subdomain", name},
            {"automountServiceAccountToken", false},
            {"enableServiceLinks", false},
            {"terminationGracePeriodSeconds", seconds_of("notice", settings.notice)},
            {"containers", json::array({container(settings, launch, name)})},
            {"volumes", volumes(settings, launch, name)}};
  const auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) spec[key] = value;
  };
  set("serviceAccountName", settings.service_account);
  set("priorityClassName", settings.priority_class);
  if (!settings.image_pull_secret.empty()) spec["imagePullSecrets"] = {{{"name", settings.image_pull_secret}}};
  json selector = settings.node_selector.empty() ? json::object() : json(settings.node_selector);
  json tolerations = json::array();
  for (const std::string& text : settings.tolerations) tolerations.push_back(toleration(text));
  if (const SpotNodes* spot = spot_nodes(settings.spot)) {
    selector[spot->label] = spot->value;
    if (spot->tainted) tolerations.push_back(toleration(fmt::format("{}={}:NoSchedule", spot->label, spot->value)));
  }
  if (!selector.empty()) spec["nodeSelector"] = selector;
  if (const auto none = node_names(excluded(settings, launch)); !none.empty()) {
    const json away{{"key", "kubernetes.io/hostname"}, {"operator", "NotIn"}, {"values", none}};
    const json terms = json::array({{{"matchExpressions", json::array({away})}}});
    spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] = terms;
  }
  if (!tolerations.empty()) spec["tolerations"] = tolerations;
  if (settings.user > 0)
    spec["securityContext"] = {{"runAsNonRoot", true},
                               {"runAsUser", settings.user},
                               {"runAsGroup", settings.user},
                               {"fsGroup", settings.user},
                               {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  json template_{{"metadata", {{"labels", metadata(settings, launch, name)["labels"]}}}, {"spec", spec}};
  if (launch.script && !launch.script->pod.empty()) return like_pod(launch.script->pod, std::move(template_));
  return template_;
}

// What ends the whole launch: the same again would end the same, on whatever node.
std::vector<int> hopeless_statuses() {
  std::vector<int> all;
  for (const job::ExitEntry& entry : job::kExitCodes) {
    const bool failed = entry.kind == job::ExitClass::kFailed && entry.status != int(ErrorCode::kEnvironment);
    if (failed || entry.kind == job::ExitClass::kRefused) all.push_back(entry.status);
  }
  all.push_back(126);  // of the shell: the program cannot be started
  all.push_back(127);
  return all;
}

json pod_failure_policy(const Launch& launch) {
  const auto statuses = [](const char* action, const std::vector<int>& values) {
    return json{{"action", action},
                {"onExitCodes", {{"containerName", "worker"}, {"operator", "In"}, {"values", values}}}};
  };
  json rules = json::array();
  std::vector<int> hopeless = hopeless_statuses();
  if (launch.script) hopeless.push_back(kScriptFailed);  // its workers have begun again as often as they may
  std::ranges::sort(hopeless);                           // as the API wants it
  rules.push_back(statuses("FailJob", hopeless));
  rules.push_back(statuses("Ignore", {int(ErrorCode::kPreempted)}));
  rules.push_back(
      {{"action", "Ignore"}, {"onPodConditions", json::array({{{"type", "DisruptionTarget"}, {"status", "True"}}})}});
  return {{"rules", rules}};
}

std::string digest_of(const Launch& launch) {
  return fmt::format(
      "{:016x}", fnv1a_64(fmt::format("{}\n{}:{}\n{}", launch.job, launch.workers_min, launch.workers, launch.out)));
}

json job(const KubernetesSettings& settings, const Launch& launch, const std::string& name) {
  json spec{{"completions", launch.workers},
            {"parallelism", launch.workers},
            {"completionMode", "Indexed"},
            {"backoffLimitPerIndex", settings.restarts},
            {"maxFailedIndexes", 0},
            {"podReplacementPolicy", "Failed"},
            {"podFailurePolicy", pod_failure_policy(launch)},
            // The first worker is the last one that is needed: it keeps the record, or waits for whoever does.
            {"successPolicy", {{"rules", json::array({{{"succeededIndexes", "0"}}})}}},
            {"suspend", !settings.queue.empty()},  // Kueue lets it go
            {"template", pod(settings, launch, name)}};
  int64_t seconds = launch.seconds_max;
  if (seconds == 0 && !settings.time.empty()) seconds = seconds_of("time", settings.time);
  if (seconds > 0) spec["activeDeadlineSeconds"] = seconds;
  if (launch.script) spec["ttlSecondsAfterFinished"] = kKeptSeconds;
  json meta = metadata(settings, launch, name);
  meta["annotations"] = {{kNameAnnotation, launch.label}, {kDigestAnnotation, digest_of(launch)}};
  if (!settings.queue.empty()) meta["labels"]["kueue.x-k8s.io/queue-name"] = settings.queue;
  return {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", meta}, {"spec", spec}};
}

void emit(YAML::Emitter& out, const json& value) {
  if (value.is_object()) {
    if (value.empty()) {
      out << YAML::Flow << YAML::BeginMap << YAML::EndMap;
      return;
    }
    out << YAML::BeginMap;
    for (const auto& [key, inner] : value.items()) {
      out << YAML::Key << key << YAML::Value;
      emit(out, inner);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    const bool plain = std::none_of(value.begin(), value.end(), [](const json& one) { return one.is_structured(); });
    if (plain) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const json& inner : value) emit(out, inner);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    // A block keeps all but blanks at the beginning of its first line, and bytes that YAML has no place for.
    const bool block = text.find('\n') != std::string::npos && text.ends_with('\n') && !text.starts_with(' ') &&
                       !text.starts_with('\n') && !text.ends_with("\n\n") &&
                       std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c < 127); });
    if (block)
      out << YAML::Literal << text;
    else
      out << YAML::DoubleQuoted << text;
  } else if (value.is_boolean()) {
    out << value.get<bool>();
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << value.dump();
  }
}

}  // namespace

std::string object_name(const std::string& label) {
  std::string name;
  for (const char c : label) {
    const auto letter = static_cast<unsigned char>(c);
    name += std::isalnum(letter) != 0 ? static_cast<char>(std::tolower(letter)) : '-';
  }
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0) name = "l" + name;
  while (name.ends_with('-')) name.pop_back();
  if (name == label && name.size() <= kNameMax) return name;
  const std::string chance = fmt::format("-{:08x}", fnv1a_32(label));
  return name.substr(0, kNameMax - chance.size()) + chance;
}

KubernetesObjects kubernetes_objects(const KubernetesSettings& settings, const Launch& launch,
                                     const std::map<std::string, std::string>& secret_values) {
  const std::string name = object_name(launch.label);
  const json meta = metadata(settings, launch, name);
  KubernetesObjects objects;
  objects.job = job(settings, launch, name);
  objects.service = {{"apiVersion", "v1"},
                     {"kind", "Service"},
                     {"metadata", meta},
                     {"spec",
                      {{"clusterIP", "None"},
                       {"publishNotReadyAddresses", true},
                       {"selector", {{kLaunchLabel, name}}},
                       {"ports", json::array({{{"name", "meet"}, {"port", settings.port}}})}}}};
  objects.config_map = {{"apiVersion", "v1"},
                        {"kind", "ConfigMap"},
                        {"metadata", meta},
                        {"immutable", true},
                        {"data", {{"job.yaml", launch.job}, {"worker.sh", kubernetes_worker(settings, launch)}}}};
  json values = json::object();
  size_t bytes = launch.job.size();
  for (const ScriptFile& file : script_files(launch)) {
    if (file.secret) continue;
    objects
        .config_map["data"][file.path.substr(file.path.find('/') == std::string::npos ? 0 : file.path.find('/') + 1)] =
        file.text;
    bytes += file.text.size();
  }
  if (launch.script) {
    objects.service["spec"]["ports"].push_back({{"name", "script"}, {"port", script_port(launch)}});
    for (const auto& [variable, value] : launch.script->environment) values[variable] = value;
  }
  if (bytes > kConfigMapMax)
    throw user_error(
        fmt::format("[launch] the job has {} KiB, and an object of Kubernetes at most 1024; put its parts "
                    "into files of their own",
                    bytes >> 10));
  for (const auto& [variable, value] : secret_values) values[variable] = value;
  values["LINAC_RUN_KEY"] = launch.key;
  objects.secret = {{"apiVersion", "v1"}, {"kind", "Secret"},  {"metadata", meta},
                    {"type", "Opaque"},   {"immutable", true}, {"stringData", values}};
  return objects;
}

std::string manifests_yaml(const KubernetesObjects& objects) {
  return documents_yaml(objects.all());
}

std::string documents_yaml(const std::vector<const json*>& objects) {
  std::string text;
  for (const json* object : objects) {
    if (object->at("kind") == "Secret") {
      const json& meta = object->at("metadata");
      text += fmt::format("# Its secrets stand in no file. By hand:\n# kubectl create secret generic {} -n {}",
                          meta["name"].get<std::string>(), meta["namespace"].get<std::string>());
      for (const auto& [variable, value] : object->at("stringData").items())
        text += variable == "LINAC_RUN_KEY" ? " --from-literal=LINAC_RUN_KEY=$(openssl rand -hex 32)"
                                            : fmt::format(" --from-literal={}=...", variable);
      text += "\n";
      continue;
    }
    YAML::Emitter out;
    out.SetIndent(2);
    emit(out, *object);
    text += std::string("---\n") + out.c_str() + "\n";
  }
  return text;
}

}  // namespace linac::sites
