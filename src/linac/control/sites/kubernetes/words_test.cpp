#include "linac/control/sites/kubernetes/words.h"

#include <gtest/gtest.h>

#include "linac/base/base/test_errors.h"

namespace linac::sites {
namespace {

using job::RunState;
using nlohmann::json;

json pod(int index, const std::string& phase, const json& container = json::object(),
         const char* made = "2026-01-31T14:05:09Z") {
  const std::string name = "demo-" + std::to_string(index) + "-" + phase + made;
  return {{"metadata",
           {{"name", name},
            {"uid", name},
            {"creationTimestamp", made},
            {"annotations", {{"batch.kubernetes.io/job-completion-index", std::to_string(index)}}}}},
          {"spec", {{"nodeName", "n04"}}},
          {"status", {{"phase", phase}, {"containerStatuses", json::array({{{"state", container}}})}}}};
}

json ended(int status, const std::string& last = "") {
  return {{"terminated", {{"exitCode", status}, {"message", last}}}};
}

json job(const char* condition = nullptr, const char* reason = "") {
  json job{{"metadata", {{"name", "demo"}, {"namespace", "calo"}, {"uid", "j"}}}, {"spec", json::object()}};
  if (condition != nullptr)
    job["status"]["conditions"] = json::array({{{"type", condition}, {"status", "True"}, {"reason", reason}}});
  return job;
}

std::string detail(const Standing& standing, const std::string& what) {
  for (const auto& [key, text] : standing.details)
    if (key == what) return text;
  return "";
}

TEST(KubernetesWords, APendingPodHasItsReason) {
  json waiting = pod(1, "Pending");
  waiting["status"]["conditions"] =
      json::array({{{"type", "PodScheduled"},
                    {"status", "False"},
                    {"reason", "Unschedulable"},
                    {"message", "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."}}});
  Standing standing = kubernetes_standing(job(), {waiting}, {});
  EXPECT_EQ(standing.state, RunState::kPending);
  EXPECT_EQ(standing.reason, "Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.");
  standing = kubernetes_standing(job(), {waiting, pod(0, "Running")}, {});
  EXPECT_EQ(standing.state, RunState::kRunning);
  expect_in(standing.reason, {"1 worker not there yet: Unschedulable"});

  const json image{{"waiting", {{"reason", "ImagePullBackOff"}, {"message", "Back-off \x1b[2Jpulling"}}}};
  standing = kubernetes_standing(job(), {pod(0, "Pending", image)}, {});
  EXPECT_EQ(standing.reason, "ImagePullBackOff: Back-off ?[2Jpulling") << "a stranger's words reach the terminal";

  const json creating{{"waiting", {{"reason", "ContainerCreating"}}}};
  const json made = pod(0, "Pending", creating);
  EXPECT_EQ(kubernetes_standing(job(), {made}, {}).state, RunState::kStarting);
  const json event{{"type", "Warning"},
                   {"reason", "FailedMount"},
                   {"message", "no claim"},
                   {"involvedObject", {{"uid", made["metadata"]["uid"]}}}};
  EXPECT_EQ(kubernetes_standing(job(), {made}, {event}).reason, "FailedMount: no claim");
}

TEST(KubernetesWords, AQuotaThatLetsNoPodBeMadeIsTold) {
  const json event{{"type", "Warning"},
                   {"reason", "FailedCreate"},
                   {"message", "exceeded quota: small"},
                   {"involvedObject", {{"uid", "j"}}}};
  const Standing standing = kubernetes_standing(job(), {}, {event});
  EXPECT_EQ(standing.state, RunState::kPending);
  EXPECT_EQ(standing.reason, "FailedCreate: exceeded quota: small");
}

TEST(KubernetesWords, EndsAreThoseOfTheExitStatuses) {
  EXPECT_EQ(kubernetes_standing(job("Complete"), {pod(0, "Succeeded", ended(0))}, {}).state, RunState::kSucceeded);
  Standing standing = kubernetes_standing(
      job("Failed", "PodFailurePolicy"),
      {pod(0, "Failed", ended(75)), pod(1, "Failed", ended(3, "reading\n[hdf5] a.h5: no dataset 'ECAL'\n"))}, {});
  EXPECT_EQ(standing.state, RunState::kFailed);
  expect_in(standing.reason, {"exit status 3", "[hdf5] a.h5: no dataset 'ECAL'"});
  expect_in(detail(standing, "worker 1"), {"exit status 3", "on n04"});
  standing = kubernetes_standing(job("Failed", "DeadlineExceeded"), {pod(0, "Failed", ended(75))}, {});
  EXPECT_EQ(standing.state, RunState::kCancelled);
  standing = kubernetes_standing(job("Failed", "MaxFailedIndexesExceeded"), {pod(0, "Failed", ended(6))}, {});
  EXPECT_EQ(standing.state, RunState::kLost);
  json killed = ended(137);
  killed["terminated"]["reason"] = "OOMKilled";
  standing = kubernetes_standing(job(), {pod(0, "Failed", killed)}, {});
  EXPECT_EQ(standing.state, RunState::kRecovering);
  expect_in(detail(standing, "worker 0"), {"exit status 137", "OOMKilled: raise memory"});
}

TEST(KubernetesWords, AnEvictedWorkerIsCalledThat) {
  json evicted = pod(2, "Failed");
  evicted["status"]["conditions"] =
      json::array({{{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "EvictionByEvictionAPI"}}});
  const Standing standing = kubernetes_standing(job(), {evicted, pod(0, "Running")}, {});
  EXPECT_EQ(standing.state, RunState::kRunning);
  expect_in(detail(standing, "worker 2"), {"EvictionByEvictionAPI"});
  EXPECT_EQ(detail(standing, "pods"), "1 running, 1 ended");
}

TEST(KubernetesWords, TheFirstWorkersLogsComeInTheirOrder) {
  const std::vector<json> pods{pod(1, "Running"), pod(0, "Running", {}, "2026-01-31T15:00:00Z"),
                               pod(0, "Failed", ended(75), "2026-01-31T14:00:00Z"), pod(10, "Running")};
  EXPECT_EQ(pods_of_first(pods),
            (std::vector<std::string>{"demo-0-Failed2026-01-31T14:00:00Z", "demo-0-Running2026-01-31T15:00:00Z"}));
}

TEST(KubernetesWords, AnswersMayLackAnything) {
  for (const json& strange :
       {json(), json::object(), json::array(), json("text"), json{{"metadata", 3}},
        json{{"status", {{"conditions", "x"}}}}, json{{"status", {{"conditions", {1, "a", nullptr}}}}},
        json{{"status", {{"containerStatuses", {{{"state", 7}}}}}}}}) {
    const Standing standing = kubernetes_standing(strange, {strange, pod(0, "Running")}, {strange});
    EXPECT_EQ(standing.state, RunState::kRunning) << strange;
    EXPECT_EQ(pods_of_first({strange}).size(), 0U);
  }
}

}  // namespace
}  // namespace linac::sites
