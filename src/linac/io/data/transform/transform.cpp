#include "linac/io/data/transform/transform.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "linac/base/base/error.h"
#include "linac/base/expression/expression.h"

namespace linac::data {
namespace {

using nlohmann::json;

std::vector<std::string> named_in(const std::string& formula) {
  return formula.empty() ? std::vector<std::string>{} : expression::parse(formula, "data").columns();
}

/// What is needed of stored and of computed columns, growing until nothing is added.
struct Needs {
  const Transform& transform;
  std::set<std::string> stored, computed;
  std::set<size_t> rules;

  void add(const std::string& name) {
    const auto defined = transform.define.find(name);
    if (defined == transform.define.end()) return add_stored(name);
    if (!computed.insert(name).second) return;
    for (const std::string& other : named_in(defined->second)) other == name ? add_stored(name) : add(other);
  }

  void add_stored(const std::string& name) {
    if (!stored.insert(name).second) return;
    for (size_t i = 0; i < transform.lists.size(); ++i) {
      const ListRule& rule = transform.lists[i];
      if (std::ranges::find(rule.columns, name) == rule.columns.end() || !rules.insert(i).second) continue;
      for (const std::string& formula : {rule.filter, rule.sort})
        for (const std::string& other : named_in(formula)) add_stored(other);
    }
  }
};

constexpr Part kParts[] = {Part::kTrain, Part::kValidation, Part::kTest};

}  // namespace

const char* to_string(Part part) {
  switch (part) {
    case Part::kTrain:
      return "train";
    case Part::kValidation:
      return "validation";
    case Part::kTest:
      break;
  }
  return "test";
}

std::optional<Part> part_named(std::string_view name) {
  for (const Part part : kParts)
    if (name == to_string(part)) return part;
  return std::nullopt;
}

Transform needed_of(const Transform& transform, std::span<const WantedColumn> columns) {
  Needs needs{transform, {}, {}, {}};
  for (const WantedColumn& column : columns) {
    if (column.zipped.empty()) needs.add(column.name);
    for (const std::string& name : column.zipped) needs.add(name);
  }
  for (const std::string& name : named_in(transform.filter)) needs.add(name);
  if (transform.split)
    for (const std::string& name : transform.split->key) needs.add(name);
  Transform out{.lists = {}, .define = {}, .filter = transform.filter, .split = transform.split};
  for (const std::string& name : needs.computed) out.define[name] = transform.define.at(name);
  for (const size_t i : needs.rules) {
    ListRule rule = transform.lists[i];
    std::erase_if(rule.columns, [&](const std::string& name) { return !needs.stored.contains(name); });
    out.lists.push_back(std::move(rule));
  }
  return out;
}

json to_json(const Transform& transform) {
  json lists = json::array();
  for (const ListRule& rule : transform.lists)
    lists.push_back({{"columns", rule.columns}, {"filter", rule.filter}, {"sort", rule.sort}, {"first", rule.first}});
  json out{{"lists", lists}, {"define", transform.define}, {"filter", transform.filter}};
  if (const auto& split = transform.split)
    out["split"] = {{"key", split->key},
                    {"validation", split->validation},
                    {"test", split->test},
                    {"part", to_string(split->part)}};
  if (transform.split && transform.split->folds > 0) {
    out["split"]["folds"] = transform.split->folds;
    out["split"]["fold"] = transform.split->fold;
  }
  return out;
}

Transform transform_from_json(const json& from) {
  Transform out{.lists = {}, .define = from.at("define"), .filter = from.at("filter")};
  for (const json& rule : from.at("lists"))
    out.lists.push_back({rule.at("columns"), rule.at("filter"), rule.at("sort"), rule.at("first")});
  if (const auto split = from.find("split"); split != from.end()) {
    out.split = SplitRule{.key = split->at("key"), .validation = split->at("validation"), .test = split->at("test")};
    out.split->folds = split->value("folds", 0);
    out.split->fold = split->value("fold", 0);
    out.split->part = part_named(split->at("part").get<std::string>()).value_or(Part::kTrain);
  }
  return out;
}

}  // namespace linac::data
