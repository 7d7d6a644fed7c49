// The metadata of a checkpoint as another version, a damaged disk or a stranger may leave them, in a file whose tensors
// and checksum are right: what a training goes on from is written again as the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "linac/base/base/error.h"
#include "linac/base/weights/tensor_file.h"
#include "linac/train/train/state/position.h"

namespace {

using namespace linac;
using nlohmann::json;

void need(bool condition) {
  if (!condition) std::abort();
}

/// Of one network with one weight.
train::TrainState small_state() {
  graph::Parameters parameters;
  parameters.trainable_layout.add("dense/kernel", {3});
  parameters.trainable.resize(static_cast<size_t>(parameters.trainable_layout.total));
  const optimizer::Settings settings;
  train::TrainState state;
  state.networks.push_back({"model", parameters, optimizer::Optimizer(settings, parameters.trainable.size()), {}, {}});
  return state;
}

/// The bytes of a checkpoint of `state` with other metadata.
std::string with_meta(const train::TrainState& state, const json& meta) {
  const weights::TensorFile file = weights::decode_tensors(train::encode(state, json::object()), "fuzz");
  std::vector<weights::TensorView> tensors;
  for (const auto& [name, values] : file.tensors)
    tensors.push_back({name, {static_cast<int64_t>(values.size())}, values});
  return weights::encode_tensors(tensors, meta, weights::Digest::kLast);
}

/// False if it is refused as it should be: any other exception is a finding.
template <class Function>
bool accepted(const Function& function) {
  try {
    function();
    return true;
  } catch (const Error& error) {
    need(error.code() == ErrorCode::kData);
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const json meta = json::parse(text, nullptr, /*allow_exceptions=*/false);
  train::TrainState state = small_state();
  if (meta.is_discarded()) {
    need(!accepted([&] { train::set_position(text, "fuzz", state); }));
    return 0;
  }
  const std::string bytes = with_meta(state, meta);
  json notes;
  accepted([&] { train::epoch_end_in(bytes, "fuzz"); });
  const bool has_notes = accepted([&] { notes = train::notes_of(bytes, "fuzz"); });
  if (!accepted([&] { train::decode(bytes, "fuzz", state); }) || !has_notes) return 0;
  need(state.epoch >= 0 && state.step >= 0 && state.global_step >= 0 && state.rollbacks >= 0 &&
       state.best_epoch >= -1 && state.networks[0].optimizer.updates() >= 0);
  for (const train::EpochRecord& record : state.history) need(train::same_epoch(record, record) && record.epoch >= 0);
  const std::string written = train::encode(state, notes);
  train::TrainState again = small_state(), there = small_state();
  train::decode(written, "fuzz", again);
  need(train::encode(again, train::notes_of(written, "fuzz")) == written);
  train::set_position(train::position_text(state), "fuzz", there);  // as another worker is told
  need(train::position_text(there) == train::position_text(state));
  return 0;
}
