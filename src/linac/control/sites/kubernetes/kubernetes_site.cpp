// Clusters of Kubernetes, by their own interface over https; kubectl is not needed. A launch is one Indexed Job and
// what it needs (manifests.h). The Job is made first, suspended, and let go when all the rest is there and belongs to
// it: a client that dies in between leaves something that costs nothing, that the next one finds by its name, and that
// goes as a whole. Nothing is left at the cluster after `cancel`.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "linac/base/base/amounts.h"
#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/utf8.h"
#include "linac/control/sites/abilities.h"
#include "linac/control/sites/kubernetes/api.h"
#include "linac/control/sites/kubernetes/check.h"
#include "linac/control/sites/kubernetes/kubeflow.h"
#include "linac/control/sites/kubernetes/manifests.h"
#include "linac/control/sites/kubernetes/rights.h"
#include "linac/control/sites/kubernetes/words.h"
#include "linac/control/sites/script/script_files.h"
#include "linac/control/sites/site.h"

namespace linac::sites {
namespace {

using nlohmann::json;

constexpr int64_t kLogBytesMax = 1 << 20;
constexpr auto kAskAgain = std::chrono::milliseconds(250);
constexpr auto kGoneAfterNotice = std::chrono::seconds(60);  // what the cluster may take beyond the notice

class KubernetesSite : public Site, public RunsPods, public RunsScripts {
 public:
  KubernetesSite(std::string name, std::string where, KubernetesSettings settings)
      : Site(std::move(name), std::move(where)), settings_(std::move(settings)) {}
  const CommonSettings& common() const override { return settings_; }
  Facts facts() const override;

  std::vector<PlannedStep> plan(const Launch& launch) const override {
    return {{"", manifests_yaml(kubernetes_objects(settings_, launch, secret_values()))}};
  }
  std::vector<PlannedStep> plan_as(const Launch& launch, const std::string& kind) const override {
    return {{"", kubeflow_yaml(settings_, launch, kubernetes_objects(settings_, launch, secret_values()), kind)}};
  }
  std::vector<Finding> check(const job::Job* job) const override;
  std::vector<Finding> look_at_script(const Launch& launch) const override;
  std::string submit(const Launch& launch) const override;
  Standing standing(const Record& record) const override;
  std::string cancel(const Record& record) const override;
  void reopen(const Record& record) const override { cancel(record); }
  std::string log(const Record& record, int64_t from) const override;

 private:
  KubernetesApi api() const { return {find_access(settings_.kubeconfig, settings_.context), place()}; }
  std::string core(const std::string& resource) const {
    return fmt::format("/api/v1/namespaces/{}/{}", settings_.name_space, resource);
  }
  std::string jobs() const { return fmt::format("/apis/batch/v1/namespaces/{}/jobs", settings_.name_space); }
  std::string of_launch(const std::string& name) const {
    return "labelSelector=" + in_url(fmt::format("{}={}", kLaunchLabel, name));
  }
  std::vector<json> pods(KubernetesApi& api, const std::string& name) const {
    return api.list("its pods cannot be listed", core("pods"), of_launch(name));
  }
  std::map<std::string, std::string> secret_values() const;
  void make_rest(KubernetesApi& api, const KubernetesObjects& objects, const json& job, bool is_new) const;
  bool wait_until_gone(KubernetesApi& api, const std::string& name) const;

  KubernetesSettings settings_;
};

// Which pods share a node the cluster decides.
Facts KubernetesSite::facts() const {
  Facts facts{.pause = std::chrono::seconds(2), .forgets = true};
  if (!settings_.memory.empty()) facts.memory = {{gib_of_quantity(settings_.memory), 1, "memory: " + settings_.memory}};
  return facts;
}

// Those that the site takes from whoever launches.
std::map<std::string, std::string> KubernetesSite::secret_values() const {
  std::map<std::string, std::string> values;
  for (const auto& [variable, reference] : settings_.secrets) {
    if (!reference.starts_with("env:")) continue;
    const char* const value = std::getenv(reference.c_str() + 4);
    if (value == nullptr || *value == '\0')
      throw user_error(fmt::format("{}.secrets.{}: {} is not set here", place(), variable, reference.substr(4)));
    values[variable] = value;
  }
  return values;
}

std::vector<Finding> KubernetesSite::check(const job::Job* job) const {
  return check_cluster(settings_, place(), job);
}

// A Job that is new has no other objects: what has their names was left by one that was deleted a moment ago.
void KubernetesSite::make_rest(KubernetesApi& api, const KubernetesObjects& objects, const json& job,
                               bool is_new) const {
  const json owner{{"apiVersion", "batch/v1"},
                   {"kind", "Job"},
                   {"name", text_of(job, "metadata", "name")},
                   {"uid", text_of(job, "metadata", "uid")}};
  for (const auto& [object, resource] :
       {std::pair{&objects.service, "services"}, {&objects.config_map, "configmaps"}, {&objects.secret, "secrets"}}) {
    json owned = *object;
    owned["metadata"]["ownerReferences"] = json::array({owner});
    const std::string what = fmt::format("{} cannot be made", text_of(owned, "kind"));
    const auto answer = api.need(what, "POST", core(resource), &owned, {409});
    if (answer.status != 409 || !is_new) continue;
    api.need(what, "DELETE", core(resource) + "/" + text_of(owned, "metadata", "name"), nullptr, {404});
    api.need(what, "POST", core(resource), &owned);
  }
}

// Its image is looked at by the worker itself, before anything else.
std::vector<Finding> KubernetesSite::look_at_script(const Launch& launch) const {
  return check_script_here(launch);
}

std::string KubernetesSite::submit(const Launch& launch) const {
  const KubernetesObjects objects = kubernetes_objects(settings_, launch, secret_values());
  const std::string name = object_name(launch.label);
  KubernetesApi api = this->api();
  json suspended = objects.job;
  suspended["spec"]["suspend"] = true;
  const auto made = api.need("the Job cannot be made", "POST", jobs(), &suspended, {409});
  json job = made.body;
  if (made.status == 409) {
    job = api.need("the Job cannot be read", "GET", jobs() + "/" + name).body;
    const auto annotation = [&](const json& of) { return text_of(of, "metadata", "annotations", kDigestAnnotation); };
    if (annotation(job) != annotation(objects.job))
      throw user_error(
          fmt::format("{}: a Job {} that is another launch is there already; choose another --name", place(), name));
    if (!text_of(job, "metadata", "deletionTimestamp").empty())
      throw user_error(
          fmt::format("{}: the Job {} is being cancelled; wait for its end, or choose another --name", place(), name));
  }
  const std::string begun = text_of(job, "status", "startTime");
  if (begun.empty()) make_rest(api, objects, job, made.status != 409);
  if (begun.empty() && settings_.queue.empty()) {  // else Kueue lets it go
    const json go{{"spec", {{"suspend", false}}}};
    api.need("the Job cannot be let go", "PATCH", jobs() + "/" + name, &go);
  }
  return settings_.name_space + "/" + name;
}

Standing KubernetesSite::standing(const Record& record) const {
  const std::string name = object_name(record.label);
  KubernetesApi api = this->api();
  const auto job = api.need("the Job cannot be read", "GET", jobs() + "/" + name, nullptr, {404});
  if (job.status == 404)
    return {job::RunState::kLost, fmt::format("no Job {} in {} (any more)", name, settings_.name_space), {}};
  const std::vector<json> all = pods(api, name);
  std::vector<json> events;
  const auto add_events = [&](const json& object) {
    const std::string query = "fieldSelector=" + in_url("involvedObject.uid=" + text_of(object, "metadata", "uid"));
    for (json& event : api.list("events cannot be listed", core("events"), query)) events.push_back(std::move(event));
  };
  add_events(job.body);
  if (const json* waiting = waiting_pod(all)) add_events(*waiting);
  Standing standing = kubernetes_standing(job.body, all, events);
  if (record.script) tell_of_script(standing, "");
  return standing;
}

// Whether nothing of it is there any more.
bool KubernetesSite::wait_until_gone(KubernetesApi& api, const std::string& name) const {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(seconds_of("notice", settings_.notice)) +
                     kGoneAfterNotice;
  while (std::chrono::steady_clock::now() < limit) {
    try {
      if (api.need("the Job cannot be read", "GET", jobs() + "/" + name, nullptr, {404}).status == 404 &&
          api.list("its pods cannot be listed", core("pods"), of_launch(name)).empty())
        return true;
    } catch (const Error&) {
      if (std::chrono::steady_clock::now() + std::chrono::seconds(5) > limit) throw;  // it may come back by then
    }
    std::this_thread::sleep_for(kAskAgain);
  }
  return false;
}

std::string KubernetesSite::cancel(const Record& record) const {
  const std::string name = object_name(record.label);
  KubernetesApi api = this->api();
  const auto job = api.need("the Job cannot be read", "GET", jobs() + "/" + name, nullptr, {404});
  if (job.status == 404) return "nothing of it runs";
  const bool again = !text_of(job.body, "metadata", "deletionTimestamp").empty();
  const auto remove = [&](const std::string& path, const json& options) {
    api.need("it cannot be cancelled", "DELETE", path, &options, {404});
  };
  // In the foreground: the Job is there until its pods are gone. That very Job: another one may have its name by now.
  remove(jobs() + "/" + name,
         {{"propagationPolicy", "Foreground"}, {"preconditions", {{"uid", text_of(job.body, "metadata", "uid")}}}});
  json at_once = json::object();
  if (again) at_once["gracePeriodSeconds"] = 0;
  remove(core("pods") + "?" + of_launch(name), at_once);
  const bool gone = wait_until_gone(api, name);
  for (const char* resource : {"services", "configmaps", "secrets"})
    remove(core(resource) + "/" + name, json::object());
  if (!gone)
    return std::string(record.script ? "asked to stop" : "asked to write a checkpoint and stop") +
           "; it has not stopped yet, cancel again to end it at once";
  return again ? "ended at once; nothing of it is left there" : "stopped; nothing of it is left there";
}

std::string KubernetesSite::log(const Record& record, int64_t from) const {
  const std::string name = object_name(record.label);
  KubernetesApi api = this->api();
  std::string piece;
  int64_t passed = 0;
  // One after the other: what it printed before it was started again comes first.
  for (const std::string& pod : pods_of_first(pods(api, name))) {
    const std::string path = core("pods/" + in_url(pod)) + "/log?container=worker";
    const int status = api.read(path, [&](std::string_view bytes) {
      const auto size = static_cast<int64_t>(bytes.size());
      const int64_t skip = std::clamp<int64_t>(from - passed, 0, size);
      passed += size;
      piece += bytes.substr(static_cast<size_t>(skip));
      return static_cast<int64_t>(piece.size()) < kLogBytesMax;
    });
    // Others come from a node that is away, or a container that has not begun.
    if (status == 403)
      throw environment_error(fmt::format(
          "{}: the log may not be read; `linac sites init kubernetes` prints the rights that it needs", place()));
    if (static_cast<int64_t>(piece.size()) >= kLogBytesMax) break;
  }
  piece.resize(std::min<size_t>(piece.size(), kLogBytesMax));
  return piece;
}

std::unique_ptr<Site> make_kubernetes_site(const YAML::Node& node, const std::string& where, const std::string& name) {
  KubernetesSettings settings;
  config::read(node, settings, where, name + ".");
  check_kubernetes(settings, "[sites] " + where + ": " + name);
  return std::make_unique<KubernetesSite>(name, where, settings);
}

// What the cluster's administrator is to be asked for.
std::string kubernetes_notes() {
  std::string text = "# Whoever launches needs these rights, in the namespace of the site:\n";
  const std::string yaml = rights_yaml();
  for (size_t begin = 0; begin < yaml.size();) {
    const size_t end = yaml.find('\n', begin);
    text += "#   " + yaml.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return text;
}

}  // namespace

Kind kubernetes_kind() {
  return {"kubernetes", "a cluster of Kubernetes", make_kubernetes_site,
          [] { return config::describe(KubernetesSettings{}); }, kubernetes_notes};
}

}  // namespace linac::sites
