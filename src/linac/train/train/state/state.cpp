#include "linac/train/train/state/state.h"

#include <algorithm>

#include "linac/base/weights/tensor_file.h"
#include "linac/train/train/state/position.h"
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

void decode(std::string_view bytes, const std::string& where, TrainState& state) {
  const weights::TensorFile file = weights::decode_tensors(bytes, where);
  for (Network& network : state.networks) {
    for_each_buffer(network, [&](const std::string& name, const graph::Shape&, std::span<float> values) {
      const auto& stored = file.find(name, values.size());
      std::copy(stored.begin(), stored.end(), values.begin());
    });
  }
  set_from_meta(file.meta, where, state);
  state.exchange = {};
  for (const auto& [name, values] : file.tensors)
    if (name.starts_with(kExchange)) state.exchange.shared[name.substr(kExchange.size())] = values;
}

}  // namespace linac::train
