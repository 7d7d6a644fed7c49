#include "linac/train/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "linac/base/error.h"
#include "linac/train/tensor_file.h"

namespace linac::train {
namespace {

using models::threedgan::kLossNames;

LossTable losses_from_json(const nlohmann::json& json) {
  LossTable losses;
  for (const auto& [phase, parts] : json.items()) {
    for (size_t i = 0; i < kLossNames.size(); ++i) losses[phase][i] = parts.at(kLossNames[i]).get<double>();
  }
  return losses;
}

// Visits each buffer of a network once, under the name it has in the file.
template <class NetworkType, class Visit>
void for_each_buffer(const std::string& prefix, NetworkType& network, const Visit& visit) {
  auto& parameters = network.parameters;
  const auto slots = [&](const graph::Layout& layout, const std::string& group, auto& buffer) {
    for (const graph::Slot& slot : layout.slots) {
      visit(fmt::format("{}/{}/{}", prefix, group, slot.name), slot.shape,
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

TrainState initial_state(const spec::Job& job, const models::threedgan::ThreeDGan& model) {
  const auto network = [&](graph::Parameters parameters) {
    Optimizer optimizer(job.train.optimizer, parameters.trainable.size());
    return Network{std::move(parameters), std::move(optimizer)};
  };
  return {.generator = network(model.initial_generator(job.train.seed)),
          .discriminator = network(model.initial_discriminator(job.train.seed)),
          .epoch_sums = {},
          .history = {}};
}

nlohmann::json to_json(const LossTable& losses) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [phase, parts] : losses) {
    for (size_t i = 0; i < kLossNames.size(); ++i) json[phase][kLossNames[i]] = parts[i];
  }
  return json;
}

std::string encode(const TrainState& state, const nlohmann::json& extra) {
  std::vector<TensorView> tensors;
  const auto collect = [&](const std::string& name, const graph::Shape& shape, std::span<const float> values) {
    tensors.push_back({name, shape, values});
  };
  for_each_buffer("generator", state.generator, collect);
  for_each_buffer("discriminator", state.discriminator, collect);
  return encode_tensors(tensors,
                        {{"format_version", 2},
                         {"epoch", state.epoch},
                         {"step", state.step},
                         {"global_step", state.global_step},
                         {"rollbacks", state.rollbacks},
                         {"updates", {state.generator.optimizer.updates(), state.discriminator.optimizer.updates()}},
                         {"epoch_sums", to_json(state.epoch_sums)},
                         {"history", history_json(state.history)},
                         {"best", {{"value", state.best_value}, {"epoch", state.best_epoch}}},
                         {"run", extra}});
}

void decode(std::string_view bytes, const std::string& where, TrainState& state) {
  const TensorFile file = decode_tensors(bytes, where);
  const auto fill = [&](const std::string& name, const graph::Shape&, std::span<float> values) {
    const auto& stored = file.find(name, values.size());
    std::copy(stored.begin(), stored.end(), values.begin());
  };
  for_each_buffer("generator", state.generator, fill);
  for_each_buffer("discriminator", state.discriminator, fill);
  try {
    const nlohmann::json& meta = file.meta;
    state.epoch = meta.at("epoch");
    state.step = meta.at("step");
    state.global_step = meta.at("global_step");
    state.rollbacks = meta.at("rollbacks");
    state.generator.optimizer.set_updates(meta.at("updates").at(0));
    state.discriminator.optimizer.set_updates(meta.at("updates").at(1));
    state.epoch_sums = losses_from_json(meta.at("epoch_sums"));
    state.history.clear();
    for (const auto& record : meta.at("history")) {
      state.history.push_back({record.at("epoch"), losses_from_json(record.at("train")),
                               losses_from_json(record.at("test")),
                               record.at("physics").get<std::map<std::string, double>>()});
    }
    state.best_value = meta.at("best").at("value");
    state.best_epoch = meta.at("best").at("epoch");
  } catch (const nlohmann::json::exception& error) {
    throw data_error(fmt::format("[checkpoint] {}: its books cannot be read ({}); was it written by another version?",
                                 where, error.what()));
  }
}

}  // namespace linac::train
