#include "linac/train/train/state/state.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/weights/tensor_file.h"
#include "linac/train/trained/checkpoint_files.h"

namespace linac::train {
namespace {

constexpr std::string_view kExchange = "_exchange/";  // before the names of ExchangeState::shared

// Visits each buffer of a network once, under the name it has in the file.
template <class NetworkType, class Visit>
void for_each_buffer(NetworkType& network, const Visit& visit) {
  auto& parameters = network.parameters;
  const auto slots = [&](const graph::Layout& layout, const std::string& group, auto& buffer) {
    for (const graph::Slot& slot : layout.slots) {
      visit(trained::value_name(network.name, group, slot.name), slot.shape,
            std::span(buffer).subspan(static_cast<size_t>(slot.offset), static_cast<size_t>(slot.size)));
    }
  };
  slots(parameters.trainable_layout, "weights", parameters.trainable);
  slots(parameters.statistics_layout, "weights", parameters.statistics);
  for (auto& slot : network.optimizer.slots())
    slots(parameters.trainable_layout, "optimizer/" + slot.name, slot.values);
}

template <class Float, class Networks>
std::vector<std::span<Float>> spans_of(Networks& networks) {
  std::vector<std::span<Float>> values;
  for (auto& network : networks) {
    values.emplace_back(network.parameters.trainable);
    values.emplace_back(network.parameters.statistics);
    for (auto& slot : network.optimizer.slots()) values.emplace_back(slot.values);
  }
  return values;
}

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

void set_from(const nlohmann::json& meta, const std::string& where, TrainState& state) {
  try {
    state.epoch = meta.at("epoch");
    state.step = meta.at("step");
    state.global_step = meta.at("global_step");
    state.rollbacks = meta.at("rollbacks");
    for (size_t i = 0; i < state.networks.size(); ++i)
      state.networks[i].optimizer.set_updates(meta.at("updates").at(i));
    state.input.reset();
    if (const auto input = meta.find("input"); input != meta.end()) {
      const data::WindowPlace window{input->at("window"), input->at("first")};
      if (window.window < 0 || window.first < 0)
        throw data_error(fmt::format("[checkpoint] {}: its place in the input is below 0; it is damaged", where));
      state.input = InputPlace{input->at("seed"), input->at("epoch"), window, primaries::range_in(*input, where)};
    }
    state.epoch_sums = measures_from_json(meta.at("epoch_sums"));
    state.history.clear();
    for (const auto& record : meta.at("history")) {
      state.history.push_back({record.at("epoch"), measures_from_json(record.at("train")),
                               measures_from_json(record.at("test")), record.at("physics").get<Measures>()});
    }
    state.best_value = meta.at("best").at("value");
    state.best_epoch = meta.at("best").at("epoch");
    state.lineage = {meta.value("id", ""), meta.value("branch_of", "")};
  } catch (const nlohmann::json::exception& error) {
    throw data_error(fmt::format(
        "[checkpoint] {}: its metadata cannot be read ({}); was it written by another version?", where, error.what()));
  }
}

}  // namespace

void tell_encoded(const TrainState& state, const nlohmann::json& extra,
                  const std::function<void(std::span<const std::byte>)>& take) {
  std::vector<weights::TensorView> tensors;
  for (const Network& network : state.networks) {
    for_each_buffer(network, [&](const std::string& name, const graph::Shape& shape, std::span<const float> values) {
      tensors.push_back({name, shape, values});
    });
  }
  for (const auto& [name, values] : state.exchange.shared)
    tensors.push_back({std::string(kExchange) + name, {static_cast<int64_t>(values.size())}, values});
  nlohmann::json meta = position_json(state);
  meta["format_version"] = 2;
  meta["run"] = extra;
  weights::tell_tensors(tensors, meta, weights::Digest::kLast, take);
}

std::string encode(const TrainState& state, const nlohmann::json& extra) {
  std::string bytes;
  tell_encoded(state, extra, [&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  return bytes;
}

std::string position_text(const TrainState& state) {
  nlohmann::json position = position_json(state);
  for (const auto& [name, values] : state.exchange.shared) position["exchange"][name] = values.size();
  return position.dump();
}

void set_position(const std::string& text, const std::string& where, TrainState& state) {
  try {
    const nlohmann::json position = nlohmann::json::parse(text);
    set_from(position, where, state);
    state.exchange = {};
    const nlohmann::json shared = position.value("exchange", nlohmann::json::object());
    for (const auto& [name, size] : shared.items()) state.exchange.shared[name].resize(size.get<size_t>());
  } catch (const nlohmann::json::exception& error) {
    throw data_error(fmt::format("[checkpoint] {}: not the position of a training ({})", where, error.what()));
  }
}

std::vector<std::span<float>> values_of(std::vector<Network>& networks) {
  return spans_of<float>(networks);
}

std::vector<std::span<const float>> values_of(const std::vector<Network>& networks) {
  return spans_of<const float>(networks);
}

std::vector<std::span<float>> values_of(ExchangeState::Values& values) {
  std::vector<std::span<float>> spans;
  for (auto& [name, one] : values) spans.emplace_back(one);
  return spans;
}

std::optional<EpochRecord> epoch_end_in(std::string_view bytes, const std::string& where) {
  TrainState state;
  set_from(weights::decode_tensors(bytes, where).meta, where, state);
  return state.step == 0 && !state.history.empty() ? std::optional(state.history.back()) : std::nullopt;
}

// As a checkpoint has them: a measure that is not a number is equal to itself.
bool same_epoch(const EpochRecord& one, const EpochRecord& other) {
  return history_json({one}).dump() == history_json({other}).dump();
}

nlohmann::json notes_of(std::string_view bytes, const std::string& where) {
  return weights::decode_tensors(bytes, where).meta.value("run", nlohmann::json::object());
}

void decode(std::string_view bytes, const std::string& where, TrainState& state) {
  const weights::TensorFile file = weights::decode_tensors(bytes, where);
  for (Network& network : state.networks) {
    for_each_buffer(network, [&](const std::string& name, const graph::Shape&, std::span<float> values) {
      const auto& stored = file.find(name, values.size());
      std::copy(stored.begin(), stored.end(), values.begin());
    });
  }
  set_from(file.meta, where, state);
  state.exchange = {};
  for (const auto& [name, values] : file.tensors)
    if (name.starts_with(kExchange)) state.exchange.shared[name.substr(kExchange.size())] = values;
}

}  // namespace linac::train
