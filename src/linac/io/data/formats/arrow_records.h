#pragma once
// Fields of records, in lists or not, as columns of their own: awkward's list<struct<pt, eta>> "Jet" has the lists
// "Jet.pt" and "Jet.eta". For the sources of this module only: needs Arrow's headers.

#include <arrow/api.h>

#include <memory>
#include <span>
#include <string>

namespace linac::data {

/// What lists of any depth lie around.
const arrow::DataType& inside_lists(const arrow::DataType& type);

/// The column of the field that `path` leads to, from record to record; the lists around the records are around it. A
/// null record has a null there.
std::shared_ptr<arrow::DataType> type_of_field(const std::shared_ptr<arrow::DataType>& type,
                                               std::span<const std::string> path);
arrow::Result<std::shared_ptr<arrow::Array>> field_of(const std::shared_ptr<arrow::Array>& array,
                                                      std::span<const std::string> path);

}  // namespace linac::data
