#include "linac/io/data/read_share.h"

#include <algorithm>

#include "linac/io/data/formats/batches/batch_transform.h"
#include "linac/io/data/formats/table.h"

namespace linac::data {

double read_share(const std::shared_ptr<const storage::Source>& source, const std::vector<std::string>& columns,
                  const Transform& transform) {
  const auto column_bytes = format_of(*source).column_bytes;
  if (column_bytes == nullptr) return 1;
  const int64_t bytes = column_bytes(source, columns_to_read(transform, columns));
  return std::clamp(static_cast<double>(bytes) / static_cast<double>(source->size()), 0.0, 1.0);
}

}  // namespace linac::data
