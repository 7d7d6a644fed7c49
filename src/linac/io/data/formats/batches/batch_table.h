#pragma once
// Record batches as a TableReader: what training, formulas, lists and keys of a Transform read of them. For the sources
// of this module only: needs Arrow's headers. Used by one thread.

#include <arrow/api.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/io/data/formats/batches/batch_reader.h"
#include "linac/io/data/formats/table_reader.h"

namespace linac::data {

/// The batch that is looked at; null: none is left.
struct BatchInHand {
  std::shared_ptr<arrow::RecordBatch> batch;
  int64_t first = 0;  // number of its first event in the file, for messages
};

/// How a column of this type is stored.
StoredColumn stored_as(const arrow::DataType& type);
/// Data error for one that holds neither numbers nor texts that are wanted.
StoredColumn stored_for(const std::string& name, const WantedColumn& wanted, const arrow::DataType& type);

/// Data error where no event of a column can be as it is wanted: so many lists around values of these extents. The
/// lengths of lists are seen when they are read.
void need_fit(const std::string& name, const WantedColumn& wanted, int lists, std::span<const int64_t> extents,
              const std::string& words);

/// next() hands out `hand->batch`. Data error for a column that is not there, or holds no numbers. `hand` outlives it.
std::unique_ptr<TableReader> open_batch_table(const std::string& name, const std::shared_ptr<arrow::Schema>& schema,
                                              const std::vector<WantedColumn>& columns, const BatchInHand* hand);

/// The batches of a file from its first event on. Column i of them is columns[i], stored as stored[i] says, and fits
/// but for what only its events tell.
std::unique_ptr<TableReader> table_of(std::unique_ptr<BatchReader> batches, const std::string& name,
                                      std::vector<WantedColumn> columns, std::vector<StoredColumn> stored);

}  // namespace linac::data
