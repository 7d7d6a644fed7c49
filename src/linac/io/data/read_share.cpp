#include "linac/io/data/read_share.h"

#include <algorithm>

#include "linac/io/data/formats/batches/batch_transform.h"
#include "linac/io/data/formats/file_format.h"
#include "linac/io/data/formats/parquet_file.h"

namespace linac::data {

double read_share(const std::shared_ptr<const storage::Source>& source, const std::vector<std::string>& columns,
                  const Transform& transform) {
  if (format_of(*source) != FileFormat::kParquet || source->size() == 0) return 1;
  const std::vector<std::string> names = columns_to_read(transform, columns);
  const ParquetFile file(source, {.block_events = 1, .buffer_bytes = 1 << 16});
  std::vector<int> leaves;
  for (const auto& field : file.reader().manifest().schema_fields)
    if (std::ranges::find(names, field.field->name()) != names.end()) add_leaves(field, leaves);
  int64_t bytes = 0;
  for (int group = 0; group < file.metadata().num_row_groups(); ++group)
    for (const int leaf : leaves) bytes += file.metadata().RowGroup(group)->ColumnChunk(leaf)->total_compressed_size();
  return std::clamp(static_cast<double>(bytes) / static_cast<double>(source->size()), 0.0, 1.0);
}

}  // namespace linac::data
