#include "linac/control/sites/kubernetes/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "linac/base/base/error.h"
#include "linac/base/base/utf8.h"
#include "linac/control/sites/image.h"
#include "linac/control/sites/kubernetes/api.h"
#include "linac/control/sites/kubernetes/manifests.h"
#include "linac/control/sites/kubernetes/rights.h"
#include "linac/control/sites/kubernetes/words.h"

namespace linac::sites {
namespace {

using nlohmann::json;

constexpr int kMinorMin = 31;  // from there on the API server knows all that a launch is made of (successPolicy)

Finding check_version(KubernetesApi& api) {
  const json version = api.need("its version cannot be read", "GET", "/version").body;
  const std::string minor = text_of(version, "minor");
  const bool known = text_of(version, "major") == "1" && std::atoi(minor.c_str()) >= kMinorMin;
  return {known, "version",
          printable(text_of(version, "gitVersion")) +
              (known ? "" : fmt::format(": too old; Jobs of 1.{} and later are needed", kMinorMin))};
}

std::vector<Finding> check_rights(KubernetesApi& api, const std::string& name_space) {
  std::vector<std::string> missing;
  for (const KubernetesRight& right : kubernetes_rights()) {
    const json review{{"apiVersion", "authorization.k8s.io/v1"},
                      {"kind", "SelfSubjectAccessReview"},
                      {"spec",
                       {{"resourceAttributes",
                         {{"namespace", name_space},
                          {"verb", right.verb},
                          {"group", right.group},
                          {"resource", right.resource},
                          {"subresource", right.subresource}}}}}};
    const json allowed = member(api.need("its rights cannot be asked for", "POST",
                                         "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review)
                                    .body,
                                "status", "allowed");
    if (allowed != true)
      missing.push_back(fmt::format("{} {}{}{}", right.verb, right.resource, *right.subresource == '\0' ? "" : "/",
                                    right.subresource));
  }
  if (missing.empty()) return {{true, "rights", "all that a launch needs in " + name_space}};
  return {{false, "rights",
           fmt::format("missing in {}: {}; `linac sites init kubernetes` prints a Role with them", name_space,
                       fmt::join(missing, ", "))}};
}

// Admission, quotas of objects and policies have their say; nothing is made.
std::vector<Finding> check_job(KubernetesApi& api, const KubernetesSettings& settings, const Launch& launch) {
  const KubernetesObjects objects = kubernetes_objects(settings, launch, {});
  const auto answer = api.ask(
      "POST", fmt::format("/apis/batch/v1/namespaces/{}/jobs?dryRun=All&fieldValidation=Strict", settings.name_space),
      &objects.job);
  if (!answer.good()) return {{false, "job", fmt::format("refused: {}", printable(text_of(answer.body, "message")))}};
  std::vector<Finding> all{{true, "job", "the cluster would take it"}};
  if (!answer.warning.empty()) all.push_back({false, "job", "but it warns: " + printable(answer.warning)});
  return all;
}

// Only where we may see them.
std::vector<Finding> check_quotas(KubernetesApi& api, const KubernetesSettings& settings) {
  const auto answer = api.ask("GET", fmt::format("/api/v1/namespaces/{}/resourcequotas", settings.name_space));
  std::vector<Finding> all;
  if (!answer.good()) return {{true, "quota", "not visible to you"}};
  const json items = member(answer.body, "items");
  for (const json& quota : items) {
    const json hard = member(quota, "status", "hard"), used = member(quota, "status", "used");
    std::string words;
    if (hard.is_object())
      for (const auto& [what, most] : hard.items())
        words += fmt::format("{}{} {} of {}", words.empty() ? "" : ", ", printable(what),
                             printable(text_of(used, what.c_str())),
                             printable(most.is_string() ? most.get<std::string>() : ""));
    all.push_back({true, "quota", printable(text_of(quota, "metadata", "name")) + ": " + words});
  }
  if (all.empty()) all.push_back({true, "quota", "none"});
  return all;
}

Finding check_image(const KubernetesSettings& settings) {
  const std::string last = settings.image.substr(settings.image.rfind('/') + 1);
  const bool pinned = settings.image.find('@') != std::string::npos ||
                      (last.find(':') != std::string::npos && !last.ends_with(":latest"));
  if (settings.image_pull_policy != "Always" && !pinned)
    return {false, "image",
            settings.image + ": nodes may have different ones; name a version, or set image_pull_policy: Always"};
  if (settings.image_pull_policy == "Never")
    return {true, "image", settings.image + ": on the nodes, which pull none (image_pull_policy)"};
  Finding finding = ask_registry(settings.image);
  if (!finding.good && !settings.image_pull_secret.empty())
    return {true, "image", finding.text + "; it was asked without " + settings.image_pull_secret, true};
  return finding;
}

}  // namespace

std::vector<Finding> check_cluster(const KubernetesSettings& settings, const std::string& place, const job::Job* job) {
  std::vector<Finding> all;
  try {
    KubernetesApi api(find_access(settings.kubeconfig, settings.context), place);
    all.push_back(check_version(api));
    all.insert(all.begin(), {true, kReached, api.access().server + ", " + api.access().from});
    const auto add = [&](std::vector<Finding> more) { all.insert(all.end(), more.begin(), more.end()); };
    add(check_rights(api, settings.name_space));
    Launch launch{.label = "linac-check", .job = "{}\n", .out = settings.folder, .key = {}};
    if (job != nullptr) launch.job = job::to_yaml(*job);
    add(check_job(api, settings, launch));
    add(check_quotas(api, settings));
    all.push_back(check_image(settings));
  } catch (const Error& error) {
    all.push_back({false, kReached, error.what()});
  }
  return all;
}

}  // namespace linac::sites
