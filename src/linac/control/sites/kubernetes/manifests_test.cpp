#include "linac/control/sites/kubernetes/manifests.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <regex>
#include <set>

#include "linac/base/base/test_errors.h"
#include "linac/control/sites/kubernetes/rights.h"
#include "linac/control/sites/kubernetes/words.h"
#include "linac/control/sites/shell.h"

namespace linac::sites {
namespace {

using nlohmann::json;

KubernetesSettings settings() {
  KubernetesSettings settings;
  settings.folder = "/runs";
  settings.volume = "pvc:calo";
  settings.image = "linac:1";
  return settings;
}

Launch launch() {
  return {.label = "demo-1",
          .job = "name: demo\n",
          .workers = 8,
          .workers_min = 2,
          .out = "/runs/demo-1",
          .key = std::string(64, 'a')};
}

// What a reader of YAML makes of it, with the types that JSON has.
json read_back(const YAML::Node& node) {
  if (node.IsMap()) {
    json map = json::object();
    for (const auto& entry : node) map[entry.first.as<std::string>()] = read_back(entry.second);
    return map;
  }
  if (node.IsSequence()) {
    json list = json::array();
    for (const auto& entry : node) list.push_back(read_back(entry));
    return list;
  }
  const auto text = node.as<std::string>();
  if (node.Tag() == "!") return text;  // quoted
  const json plain = json::parse(text, nullptr, false);
  return plain.is_discarded() ? json(text) : plain;
}

// Of terms of a pod's own file one is enough, so each has it.
TEST(KubernetesManifests, PodsKeepAwayFromNodes) {
  KubernetesSettings with = settings();
  EXPECT_FALSE(kubernetes_objects(with, launch(), {}).job["spec"]["template"]["spec"].contains("affinity"));
  with.exclude = {"n04"};
  Launch away = launch();
  away.exclude = {"n05.example.org", "n04", "_x", std::string(70, 'a')};
  const json terms = json::parse(
      R"([{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["n04", "n05.example.org", "n05"]}]}])");
  const auto terms_of = [&](const Launch& launch) {
    return kubernetes_objects(with, launch, {})
        .job.at(
            "/spec/template/spec/affinity/nodeAffinity"_json_pointer)["requiredDuringSchedulingIgnoredDuringExecution"]
                                                                     ["nodeSelectorTerms"];
  };
  EXPECT_EQ(terms_of(away), terms);
  away.script.emplace();
  away.script->text = "pass";
  away.script->pod =
      "kind: Pod\nspec: {containers: [{name: a}], affinity: {podAffinity: {a: b}, nodeAffinity: "
      "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone}]}, "
      "{matchFields: [{key: f}]}]}}}}\n";
  const json both = terms_of(away);
  ASSERT_EQ(both.size(), 2);
  EXPECT_EQ(both[0]["matchExpressions"][0]["key"], "zone");
  EXPECT_EQ(both[0]["matchExpressions"][1], terms[0]["matchExpressions"][0]);
  EXPECT_EQ(both[1]["matchExpressions"], terms[0]["matchExpressions"]);
  EXPECT_EQ(both[1]["matchFields"][0]["key"], "f");
}

TEST(KubernetesManifests, NamesAreThoseThatKubernetesTakes) {
  const std::regex kDns("[a-z]([-a-z0-9]*[a-z0-9])?");
  std::set<std::string> names;
  const std::vector<std::string> labels{"demo-1",
                                        "Demo-1",
                                        "demo_1",
                                        "demo.1",
                                        "1demo",
                                        "A",
                                        "a-",
                                        "a--",
                                        std::string(100, 'x'),
                                        std::string(99, 'x') + "y",
                                        "x." + std::string(98, '-')};
  for (const std::string& label : labels) {
    const std::string name = object_name(label);
    EXPECT_TRUE(std::regex_match(name, kDns)) << label << " is called " << name;
    EXPECT_LE(name.size(), 52U);
    names.insert(name);
  }
  EXPECT_EQ(names.size(), labels.size()) << "two launches have one name";
  EXPECT_EQ(object_name("topology-20260131-140509-3fa4"), "topology-20260131-140509-3fa4");
}

TEST(KubernetesManifests, TheYamlIsTheObjects) {
  KubernetesSettings all = settings();
  all.cpus = "0.5";
  all.gpus = 2;
  all.spot = "gke";
  all.user = 1000;
  all.queue = "calo";
  all.node_selector = {{"disk", "true"}, {"zone", "1"}};
  all.tolerations = {"pool=calo:NoSchedule", "gone"};
  Launch hostile = launch();
  hostile.job = "name: \"a\\n--- # it's\"\n \tb: yes\nno\n\n";
  for (const Launch& each : {launch(), hostile}) {
    const KubernetesObjects objects = kubernetes_objects(all, each, {});
    const std::vector<YAML::Node> documents = YAML::LoadAll(manifests_yaml(objects));
    ASSERT_EQ(documents.size(), 3U);
    EXPECT_EQ(read_back(documents[0]), objects.service);
    EXPECT_EQ(read_back(documents[1]), objects.config_map);
    EXPECT_EQ(read_back(documents[2]), objects.job);
  }
}

TEST(KubernetesManifests, NoManifestHoldsASecret) {
  KubernetesSettings secret = settings();
  secret.secrets = {{"AWS_SECRET_ACCESS_KEY", "s3/key"}, {"TOKEN", "env:MINE"}};
  const KubernetesObjects objects = kubernetes_objects(secret, launch(), {{"TOKEN", "do-not-tell"}});
  const std::string shown = manifests_yaml(objects);
  EXPECT_EQ(shown.find(launch().key), std::string::npos);
  EXPECT_EQ(shown.find("do-not-tell"), std::string::npos);
  expect_in(shown, {"--from-literal=TOKEN=...", "key: \"key\"\n                  name: \"s3\""});
  EXPECT_EQ(objects.secret["stringData"], (json{{"LINAC_RUN_KEY", launch().key}, {"TOKEN", "do-not-tell"}}));
}

TEST(KubernetesManifests, EndsMeanWhatTheyMeanElsewhere) {
  const json job = kubernetes_objects(settings(), launch(), {}).job;
  const json rules = member(job, "spec", "podFailurePolicy", "rules");
  EXPECT_EQ(rules[0]["action"], "FailJob");
  EXPECT_EQ(rules[0]["onExitCodes"]["values"], (json{1, 2, 3, 5, 7, 10, 11, 12, 13, 126, 127}));
  EXPECT_EQ(rules[1]["action"], "Ignore");
  EXPECT_EQ(rules[1]["onExitCodes"]["values"], json::array({75}));
  EXPECT_EQ(member(job, "spec", "completions"), 8);
  EXPECT_FALSE(job["spec"].contains("activeDeadlineSeconds"));
  Launch hasty = launch();
  hasty.seconds_max = 60;
  EXPECT_EQ(member(kubernetes_objects(settings(), hasty, {}).job, "spec", "activeDeadlineSeconds"), 60);
}

TEST(KubernetesManifests, AnotherLaunchHasAnotherDigest) {
  const auto digest = [](const Launch& of) {
    return text_of(kubernetes_objects(settings(), of, {}).job, "metadata", "annotations", kDigestAnnotation);
  };
  Launch more = launch(), other = launch(), again = launch();
  more.workers = 9;
  other.job += "seed: 2\n";
  again.key = std::string(64, 'b');
  EXPECT_NE(digest(launch()), digest(more));
  EXPECT_NE(digest(launch()), digest(other));
  EXPECT_EQ(digest(launch()), digest(again));
}

// A number of a pod is the number that its user wrote, and a value may be left out.
TEST(KubernetesManifests, APodFileKeepsItsValues) {
  Launch script = launch();
  script.script.emplace();
  const auto yaml = [&](const std::string& pod) {
    script.script->pod = pod;
    return manifests_yaml(kubernetes_objects(settings(), script, {}));
  };
  const std::string shown = yaml(
      "kind: Pod\nspec:\n  hostname: \n  containers:\n  - resources: {limits: {cpu: 0.5, memory: 1.5e9}}\n    env:\n"
      "    - {name: HALF, value: \"0.5\"}\n    - {name: NONE, value: }\n");
  expect_in(shown, {"cpu: 0.5\n", "memory: 1500000000.0\n", "name: \"HALF\"\n              value: \"0.5\"\n",
                    "name: \"NONE\"\n              value: ~\n"});
  expect_in(message_of([&] { yaml("kind: Pod\nspec:\n  ? [a, b]\n  : 1\n  containers: [{}]\n"); }),
            {"--pod-file:3", "no text"});
}

TEST(KubernetesManifests, TheWorkerCanBeReadByAShell) {
  KubernetesSettings strange = settings();
  strange.program = "/it's here/linac";
  strange.environment = {{"GREETING", "it's $HOME `id`"}};
  Launch apart = launch();
  apart.out = "s3://bucket/it's";
  for (const Launch& each : {launch(), apart}) {
    const std::string script = kubernetes_worker(strange, each);
    const ShellAnswer answer = Shell().run("bash -n <<'END_OF_SCRIPT'\n" + script + "END_OF_SCRIPT");
    EXPECT_EQ(answer.status, 0) << answer.errors;
    expect_in(script, {"'/it'\\''s here/linac' train /linac/job.yaml"});
  }
}

TEST(KubernetesManifests, RightsReadNoSecret) {
  for (const KubernetesRight& right : kubernetes_rights()) {
    const std::string verb = right.verb;
    EXPECT_TRUE(std::string(right.resource) != "secrets" || verb == "create" || verb == "delete") << verb;
    EXPECT_EQ(std::string(right.resource).find('*'), std::string::npos);
  }
  EXPECT_EQ(YAML::LoadAll(rights_yaml()).size(), 3U);
}

TEST(KubernetesSettings, RefusesWhatCannotBe) {
  struct Case {
    const char *yaml, *says;
  };
  const char* const base = "kind: kubernetes\nfolder: /runs\nimage: linac:1\n";
  for (const Case& one : {Case{"volume: ''", "volume: without it"},
                          {"volume: nfs", "neither pvc:CLAIM nor hostPath:/DISK"},
                          {"volume: 'pvc:A B'", "neither pvc:CLAIM"},
                          {"volume: pvc:calo\nnamespace: 'a/../kube-system'", "namespace:"},
                          {"volume: pvc:calo\ncpus: 1 core", "no amount of Kubernetes"},
                          {"volume: pvc:calo\nspot: aws", "is not one of gke"},
                          {"volume: pvc:calo\nsecrets: {KEY: hunter2}", "secrets.KEY: neither NAME/KEY"},
                          {"volume: pvc:calo\nsecrets: {LINAC_RUN_KEY: a/b}", "a key of its own"},
                          {"volume: pvc:calo\nimage_pull_policy: always", "is not Always"},
                          {"volume: pvc:calo\nport: 80", "port: not from 1024"}}) {
    KubernetesSettings read;
    const std::string text = std::string(base) + one.yaml;
    config::read(YAML::Load(text), read, "s.yaml", "k8s.");
    try {
      check_kubernetes(read, "[sites] s.yaml: k8s");
      ADD_FAILURE() << one.yaml << " is taken";
    } catch (const Error& error) {
      expect_in(error.what(), {one.says});
      EXPECT_EQ(std::string(error.what()).find("hunter2"), std::string::npos) << "what may be a secret is told";
    }
  }
}

}  // namespace
}  // namespace linac::sites
