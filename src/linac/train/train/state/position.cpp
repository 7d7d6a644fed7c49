#include "linac/train/train/state/position.h"

#include <fmt/format.h>

#include <limits>

#include "linac/base/base/error.h"
#include "linac/base/weights/tensor_file.h"

namespace linac::train {
namespace {

// What a state counts goes through numbers of this size, or the products of two.
constexpr int64_t kCountMax = int64_t{1} << 53, kSmallMax = std::numeric_limits<int32_t>::max();

Error unreadable(const std::string& where, const std::string& why) {
  return data_error(
      fmt::format("[checkpoint] {}: its metadata cannot be read ({}); was it written by another version?", where, why));
}

// Of a JSON object, under the name of the file: a member that is missing or of another kind is a data error.
class Meta {
 public:
  Meta(const nlohmann::json& object, const std::string& where) : object_(object), where_(where) {
    if (!object.is_object()) throw unreadable(where_, fmt::format("{} in place of an object", object.type_name()));
  }

  const nlohmann::json& at(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) throw unreadable(where_, fmt::format("no '{}'", name));
    return *found;
  }
  bool has(const char* name) const { return object_.contains(name); }
  Meta object(const char* name) const { return {at(name), where_}; }
  int64_t count(const char* name, int64_t least = 0, int64_t most = kCountMax) const {
    return count_of(at(name), name, least, most);
  }
  int64_t count_of(const nlohmann::json& value, const char* name, int64_t least = 0, int64_t most = kCountMax) const {
    const bool fits = value.is_number_unsigned() ? value.get<uint64_t>() <= static_cast<uint64_t>(most)
                                                 : value.is_number_integer() && value.get<int64_t>() >= least;
    if (!fits) throw unreadable(where_, fmt::format("'{}' is no number from {} to {}", name, least, most));
    return value.get<int64_t>();
  }
  // null stands for a number that is none.
  double number(const nlohmann::json& value, const std::string& name) const {
    if (!value.is_null() && !value.is_number()) throw unreadable(where_, fmt::format("'{}' is no number", name));
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
  }
  // to_json(Measures) and back. A stroke in the outer name would be a second way to say the same.
  Measures measures(const char* of) const {
    const Meta all = object(of);
    Measures measures;
    for (const auto& [name, value] : all.object_.items()) {
      if (name.find('/') != std::string::npos) throw unreadable(where_, fmt::format("a measure called '{}'", name));
      if (!value.is_object()) {
        measures[name] = number(value, name);
        continue;
      }
      for (const auto& [part, one] : value.items()) measures[name + "/" + part] = number(one, part);
    }
    return measures;
  }
  // By their whole names.
  Measures figures(const char* of) const {
    const Meta all = object(of);
    Measures figures;
    for (const auto& [name, value] : all.object_.items()) figures[name] = number(value, name);
    return figures;
  }
  std::string text(const char* name) const {
    if (!has(name)) return "";
    if (!at(name).is_string()) throw unreadable(where_, fmt::format("'{}' is no text", name));
    return at(name).get<std::string>();
  }
  const nlohmann::json& list(const char* name) const {
    if (!at(name).is_array()) throw unreadable(where_, fmt::format("'{}' is no list", name));
    return at(name);
  }

 private:
  const nlohmann::json& object_;
  const std::string& where_;
};

nlohmann::json history_json(const std::vector<EpochRecord>& history) {
  nlohmann::json list = nlohmann::json::array();
  for (const EpochRecord& record : history) {
    list.push_back({{"epoch", record.epoch},
                    {"train", to_json(record.train)},
                    {"test", to_json(record.test)},
                    {"physics", record.physics}});
  }
  return list;
}

EpochRecord epoch_of(const Meta& meta) {
  return {meta.count("epoch"), meta.measures("train"), meta.measures("test"), meta.figures("physics")};
}

InputPlace input_of(const nlohmann::json& json, const std::string& where) {
  const Meta meta(json, where);
  if (!meta.at("seed").is_number_unsigned()) throw unreadable(where, "'seed' is no seed");
  return {meta.at("seed").get<uint64_t>(),
          meta.count("epoch"),
          {meta.count("window"), meta.count("first")},
          primaries::range_in(json, where)};
}

void set_checked(const nlohmann::json& json, const std::string& where, TrainState& state) {
  const Meta meta(json, where);
  state.epoch = meta.count("epoch", 0, kSmallMax);
  state.step = meta.count("step");
  state.global_step = meta.count("global_step");
  state.rollbacks = static_cast<int>(meta.count("rollbacks", 0, kSmallMax));
  const nlohmann::json& updates = meta.list("updates");
  if (updates.size() < state.networks.size()) throw unreadable(where, "'updates' lacks a network");
  for (size_t i = 0; i < state.networks.size(); ++i)
    state.networks[i].optimizer.set_updates(meta.count_of(updates[i], "updates"));
  state.input.reset();
  if (meta.has("input")) state.input = input_of(meta.at("input"), where);
  state.epoch_sums = meta.measures("epoch_sums");
  state.history.clear();
  for (const nlohmann::json& record : meta.list("history")) state.history.push_back(epoch_of({record, where}));
  const Meta best = meta.object("best");
  state.best_value = best.number(best.at("value"), "value");
  state.best_epoch = best.count("epoch", -1);
  state.lineage = {meta.text("id"), meta.text("branch_of")};
}

}  // namespace

nlohmann::json position_json(const TrainState& state) {
  nlohmann::json updates = nlohmann::json::array();
  for (const Network& network : state.networks) updates.push_back(network.optimizer.updates());
  nlohmann::json position{{"epoch", state.epoch},
                          {"step", state.step},
                          {"global_step", state.global_step},
                          {"rollbacks", state.rollbacks},
                          {"updates", updates},
                          {"epoch_sums", to_json(state.epoch_sums)},
                          {"history", history_json(state.history)},
                          {"best", {{"value", state.best_value}, {"epoch", state.best_epoch}}}};
  if (!state.lineage.id.empty()) position["id"] = state.lineage.id;
  if (!state.lineage.branch_of.empty()) position["branch_of"] = state.lineage.branch_of;
  if (state.input) {
    position["input"] = {{"seed", state.input->seed},
                         {"epoch", state.input->epoch},
                         {"window", state.input->window.window},
                         {"first", state.input->window.first}};
    primaries::add_range(state.input->seen, position["input"]);
  }
  return position;
}

void set_from_meta(const nlohmann::json& meta, const std::string& where, TrainState& state) {
  try {
    set_checked(meta, where, state);
  } catch (const nlohmann::json::exception& error) {
    throw unreadable(where, error.what());
  }
}

std::string position_text(const TrainState& state) {
  nlohmann::json position = position_json(state);
  for (const auto& [name, values] : state.exchange.shared) position["exchange"][name] = values.size();
  return position.dump();
}

void set_position(const std::string& text, const std::string& where, TrainState& state) {
  try {
    const nlohmann::json position = nlohmann::json::parse(text);
    set_from_meta(position, where, state);
    state.exchange = {};
    if (!position.contains("exchange")) return;
    const Meta sizes = Meta(position, where).object("exchange");
    for (const auto& [name, size] : position["exchange"].items())
      state.exchange.shared[name].resize(static_cast<size_t>(sizes.count(name.c_str(), 0, kSmallMax)));
  } catch (const nlohmann::json::exception& error) {
    throw data_error(fmt::format("[checkpoint] {}: not the position of a training ({})", where, error.what()));
  }
}

std::optional<EpochRecord> epoch_end_in(std::string_view bytes, const std::string& where) {
  TrainState state;
  set_from_meta(weights::decode_tensors(bytes, where).meta, where, state);
  return state.step == 0 && !state.history.empty() ? std::optional(state.history.back()) : std::nullopt;
}

// As a checkpoint has them: a measure that is not a number is equal to itself.
bool same_epoch(const EpochRecord& one, const EpochRecord& other) {
  return history_json({one}).dump() == history_json({other}).dump();
}

nlohmann::json notes_of(std::string_view bytes, const std::string& where) {
  const nlohmann::json file = weights::decode_tensors(bytes, where).meta;
  const Meta meta(file, where);
  if (!meta.has("run")) return nlohmann::json::object();
  const Meta notes = meta.object("run");
  for (const char* const name : {"job", "processor"}) notes.text(name);
  for (const char* const name : {"classes", "data"})
    if (notes.has(name) && !notes.at(name).is_null()) notes.object(name);
  return meta.at("run");
}

}  // namespace linac::train
