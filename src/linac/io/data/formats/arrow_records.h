#pragma once
// Fields of records, in lists or not, as columns of their own: awkward's list<struct<pt, eta>> "Jet" has the lists
// "Jet.pt" and "Jet.eta". For the sources of this module only: needs Arrow's headers.

#include <arrow/api.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/io/data/formats/table_reader.h"

namespace linac::data {

/// What lists of any depth lie around.
const arrow::DataType& inside_lists(const arrow::DataType& type);

/// The column of the field that `path` leads to, from record to record; the lists around the records are around it. A
/// null record has a null there.
std::shared_ptr<arrow::DataType> type_of_field(const std::shared_ptr<arrow::DataType>& type,
                                               std::span<const std::string> path);
arrow::Result<std::shared_ptr<arrow::Array>> field_of(const std::shared_ptr<arrow::Array>& array,
                                                      std::span<const std::string> path);

/// A column of events: a field of the file, or of the records that it holds.
struct RecordColumn {
  std::string name;                    // "Jet.pt"
  size_t field = 0;                    // of the file
  std::vector<std::string> path = {};  // from record to record
  std::shared_ptr<arrow::DataType> type;

  std::string described() const;  // "Jet.pt list<float>"
};

/// A field of a file as its columns: itself, or the fields of its records. Records with two fields of one name are one
/// column, since no path tells them apart.
std::vector<RecordColumn> columns_of(const RecordColumn& whole);

TableContents contents_of(int64_t events, const std::vector<RecordColumn>& columns);

}  // namespace linac::data
