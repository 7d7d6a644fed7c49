// Any change to the notes and numbers of a .chain file is either refused with linac::Error, or a model whose showers
// have their cells within the image. The first line is a JSON merge patch of the notes; behind it come changes of seven
// bytes: a tensor, a place in it and the bits of a number, or another size for it. The file around them is written
// anew, so its checksum is right.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/weights/tensor_file.h"
#include "linac/model/chain/chain_file.h"
#include "linac/model/chain/test_parts.h"

namespace {

using namespace linac;

constexpr size_t kChangeBytes = 7;
constexpr uint8_t kResize = 0x80;      // beside the tensor's number
constexpr int64_t kCellsMax = 100000;  // of a shower that is drawn

weights::TensorFile unchanged() {
  const auto path = std::filesystem::temp_directory_path() / ("fuzz-" + std::to_string(::getpid()) + ".chain");
  chain::save_chain({chain::test_parts(), {}}, path);
  const weights::TensorFile file = weights::decode_tensors(read_file(path), path.string());
  std::filesystem::remove(path);
  return file;
}

void change(const uint8_t* bytes, weights::TensorFile& file) {
  auto tensor = file.tensors.begin();
  std::advance(tensor, static_cast<size_t>(bytes[0] & ~kResize) % file.tensors.size());
  std::vector<float>& values = tensor->second;
  const size_t at = bytes[1] + 256 * static_cast<size_t>(bytes[2]);
  if ((bytes[0] & kResize) != 0) return values.resize(at % (2 * values.size() + 2));
  if (!values.empty()) std::memcpy(&values[at % values.size()], bytes + 3, sizeof(float));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const weights::TensorFile kUnchanged = unchanged();
  weights::TensorFile file = kUnchanged;
  const uint8_t* next = std::find(data, data + size, '\n');
  const auto patch = nlohmann::json::parse(data, next, nullptr, false);
  if (patch.is_object()) file.meta.merge_patch(patch);
  for (next += next < data + size ? 1 : 0; data + size - next >= static_cast<ptrdiff_t>(kChangeBytes);
       next += kChangeBytes)
    change(next, file);
  std::vector<weights::TensorView> views;
  for (const auto& [name, values] : file.tensors)
    views.push_back({name, {static_cast<int64_t>(values.size())}, values});
  try {
    const chain::ShowerChain model(chain::decode_chain(weights::encode_tensors(views, file.meta), "it").parts, "it");
    const EventShape shape = model.shape();
    if (shape.cells() > kCellsMax) return 0;
    chain::ShowerChain::Workspace room(model);
    std::vector<chain::CellEnergy> cells;
    model.draw(40, size % 2 == 0 ? 1.2 : 2.0, chain::chain_key(1, size), cells, room);
    for (const chain::CellEnergy& cell : cells)
      LINAC_CHECK(cell.x >= 0 && cell.x < shape.x && cell.y >= 0 && cell.y < shape.y && cell.layer >= 0 &&
                  cell.layer < shape.z);
  } catch (const Error&) {
  } catch (const nlohmann::json::exception&) {  // of a text that is no UTF-8, when it is written
  }
  return 0;
}
