#include "linac/control/sites/kubernetes/pod_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/base/base/utf8.h"
#include "linac/control/sites/kubernetes/words.h"

namespace linac::sites {
namespace {

using nlohmann::json;

constexpr const char* kWhere = "[spawn] --pod-file";

// With the types that JSON has.
json json_of(const YAML::Node& node) {
  if (node.IsMap()) {
    json map = json::object();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar())
        throw user_error(fmt::format("{}:{}: the name of a value is no text", kWhere, node.Mark().line + 1));
      map[entry.first.Scalar()] = json_of(entry.second);
    }
    return map;
  }
  if (node.IsSequence()) {
    json list = json::array();
    for (const auto& entry : node) list.push_back(json_of(entry));
    return list;
  }
  if (!node.IsScalar()) return nullptr;
  if (node.Tag() == "!") return node.Scalar();  // quoted
  const json plain = json::parse(node.Scalar(), nullptr, false);
  return plain.is_number() || plain.is_boolean() || plain.is_null() ? plain : json(node.Scalar());
}

// Those of the file that have no name of ours, then ours.
json together(const json& theirs, const json& ours) {
  json all = json::array();
  const auto has = [](const json& list, const std::string& name) {
    return std::ranges::any_of(list, [&](const json& one) { return text_of(one, "name") == name; });
  };
  if (theirs.is_array())
    for (const json& one : theirs)
      if (!has(ours, text_of(one, "name"))) all.push_back(one);
  for (const json& one : ours) all.push_back(one);
  return all;
}

// Hosts that are excluded are so beside whatever the file asks for: of its terms one is enough, so each gets ours.
json both_affinities(json theirs, const json& ours) {
  constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  const json& mine = ours["nodeAffinity"][kRequired]["nodeSelectorTerms"];
  json& terms = theirs["nodeAffinity"][kRequired]["nodeSelectorTerms"];
  if (!terms.is_array() || terms.empty()) {
    terms = mine;
    return theirs;
  }
  for (json& term : terms)
    for (const json& one : mine[0]["matchExpressions"]) term["matchExpressions"].push_back(one);
  return theirs;
}

json worker_like(json theirs, const json& ours) {
  const json command = member(theirs, "command");
  const bool runs_the_script = command.is_array() && !command.empty() && command.back() == "/script/training-script.py";
  if (theirs.contains("args") || (!command.is_null() && !runs_the_script))
    throw user_error(fmt::format("{}: its container has a command of its own; bring that as -c FILE", kWhere));
  json worker = ours;
  for (const auto& [key, value] : theirs.items()) {
    if (key == "name" || key == "image" || key == "command" || value.is_null()) continue;
    const bool list = key == "env" || key == "volumeMounts" || key == "ports";
    worker[key] = list && ours.contains(key) ? together(value, ours.at(key)) : value;
  }
  return worker;
}

}  // namespace

json like_pod(const std::string& yaml, json ours) {
  const json file = json_of(config::parse_text(yaml, kWhere));
  const json theirs = member(file, "spec"), containers = member(theirs, "containers");
  if (text_of(file, "kind") != "Pod" || !containers.is_array() || containers.size() != 1 || !containers[0].is_object())
    throw user_error(fmt::format("{}: is no Pod with one container", kWhere));
  json& spec = ours["spec"];
  for (const auto& [key, value] : theirs.items()) {
    if (key == "containers")
      spec[key][0] = worker_like(value[0], spec[key][0]);
    else if (key == "volumes")
      spec[key] = together(value, spec[key]);
    else if (key == "tolerations" && spec.contains(key) && value.is_array())
      for (const json& one : value) spec[key].push_back(one);
    else if (key == "affinity" && spec.contains(key) && value.is_object())
      spec[key] = both_affinities(value, spec[key]);
    else if (key == "nodeSelector" && spec.contains(key) && value.is_object())
      spec[key].insert(value.begin(), value.end());  // ours stay
    else if (!spec.contains(key) && !value.is_null())
      spec[key] = value;
  }
  for (const char* part : {"labels", "annotations"}) {
    const json words = member(file, "metadata", part);
    if (!words.is_object()) continue;
    for (const auto& [key, value] : words.items())  // TF-Spawner writes the values of these
      if (value.is_string() && value != "APPNAME" && value != "ATTEMPT" &&
          !member(ours, "metadata", part).contains(key))
        ours["metadata"][part][key] = value;
  }
  return ours;
}

}  // namespace linac::sites
