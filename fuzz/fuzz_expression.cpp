// Any text is refused as a user's error, or is a formula that computes what its type says: on columns of every kind,
// with empty lists and NaN. The first byte says which columns are numbers, lists and rows.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/expression/program.h"

namespace {

using namespace linac::expression;

constexpr size_t kEvents = 3;

struct Column {
  Type type;
  std::vector<double> values;
  std::vector<uint32_t> rows;
  uint32_t row_size;
};

const Column& column_of(size_t kind) {
  static const double nan = std::numeric_limits<double>::quiet_NaN();
  static const std::vector<Column> kinds = {
      {{Axes::kNumber, false}, {1, nan, -2.5}, {}, 1},          {{Axes::kNumber, true}, {1, 0, 1}, {}, 1},
      {{Axes::kList, false}, {1, nan, 3}, {2, 0, 1}, 1},        {{Axes::kList, true}, {1, 0}, {1, 1, 0}, 1},
      {{Axes::kRows, false}, {1, 2, 3, 4, 5, 6}, {1, 2, 0}, 2}, {{Axes::kRows, false}, {}, {0, 0, 0}, 0}};
  return kinds[kind % kinds.size()];
}

size_t kind_of(uint8_t first, const std::string& name) {
  return first + (name.empty() ? 0 : static_cast<unsigned char>(name.front()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    Program program(parse(text, "fuzz"),
                    [&](const std::string& name) { return column_of(kind_of(data[0], name)).type; });
    std::vector<Block> columns;
    for (const std::string& name : program.columns()) {
      const Column& column = column_of(kind_of(data[0], name));
      columns.push_back({column.values, column.rows, column.row_size});
    }
    for (int round = 0; round < 2; ++round) {
      const Block result = program.run(columns, kEvents);
      size_t values = 0;
      for (const uint32_t rows : result.rows) values += size_t{rows} * result.row_size;
      if (program.type().axes == Axes::kNumber) values = kEvents;
      if (result.values.size() != values) std::abort();
      if (program.type().boolean)
        for (const double value : result.values)
          if (value != 0 && value != 1) std::abort();
    }
  } catch (const linac::Error& error) {  // any other exception is a finding
    if (error.code() != linac::ErrorCode::kUser) std::abort();
  } catch (const Program::Fault&) {
  }
  return 0;
}
