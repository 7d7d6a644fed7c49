#include "linac/train/state.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/trained/checkpoint_files.h"
#include "linac/trained/tensor_file.h"

namespace linac::train {
namespace {

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

}  // namespace

std::string encode(const TrainState& state, const nlohmann::json& extra) {
  std::vector<trained::TensorView> tensors;
  nlohmann::json updates = nlohmann::json::array();
  for (const Network& network : state.networks) {
    for_each_buffer(network, [&](const std::string& name, const graph::Shape& shape, std::span<const float> values) {
      tensors.push_back({name, shape, values});
    });
    updates.push_back(network.optimizer.updates());
  }
  return trained::encode_tensors(tensors, {{"format_version", 2},
                                           {"epoch", state.epoch},
                                           {"step", state.step},
                                           {"global_step", state.global_step},
                                           {"rollbacks", state.rollbacks},
                                           {"updates", updates},
                                           {"epoch_sums", to_json(state.epoch_sums)},
                                           {"history", history_json(state.history)},
                                           {"best", {{"value", state.best_value}, {"epoch", state.best_epoch}}},
                                           {"run", extra}});
}

nlohmann::json notes_of(std::string_view bytes, const std::string& where) {
  return trained::decode_tensors(bytes, where).meta.value("run", nlohmann::json::object());
}

void decode(std::string_view bytes, const std::string& where, TrainState& state) {
  const trained::TensorFile file = trained::decode_tensors(bytes, where);
  for (Network& network : state.networks) {
    for_each_buffer(network, [&](const std::string& name, const graph::Shape&, std::span<float> values) {
      const auto& stored = file.find(name, values.size());
      std::copy(stored.begin(), stored.end(), values.begin());
    });
  }
  try {
    const nlohmann::json& meta = file.meta;
    state.epoch = meta.at("epoch");
    state.step = meta.at("step");
    state.global_step = meta.at("global_step");
    state.rollbacks = meta.at("rollbacks");
    for (size_t i = 0; i < state.networks.size(); ++i)
      state.networks[i].optimizer.set_updates(meta.at("updates").at(i));
    state.epoch_sums = measures_from_json(meta.at("epoch_sums"));
    state.history.clear();
    for (const auto& record : meta.at("history")) {
      state.history.push_back({record.at("epoch"), measures_from_json(record.at("train")),
                               measures_from_json(record.at("test")), record.at("physics").get<Measures>()});
    }
    state.best_value = meta.at("best").at("value");
    state.best_epoch = meta.at("best").at("epoch");
  } catch (const nlohmann::json::exception& error) {
    throw data_error(fmt::format(
        "[checkpoint] {}: its metadata cannot be read ({}); was it written by another version?", where, error.what()));
  }
}

}  // namespace linac::train
