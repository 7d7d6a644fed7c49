#pragma once
// Lists that belong together, as NanoAOD's Jet_pt and Jet_eta, as the rows of one column: value i of each list makes
// row i. A decorator of a reader. Used by one thread.

#include <memory>
#include <string>
#include <vector>

#include "linac/io/data/formats/table_reader.h"

namespace linac::data {

/// What the file's own reader is asked for: in place of a zipped column those that make its rows.
std::vector<WantedColumn> unzipped(const std::vector<WantedColumn>& columns);

/// The columns by a reader of unzipped(columns); that reader itself where nothing is zipped. `name` is what messages
/// call the file. next() throws the data error naming event and columns for lists of several lengths.
std::unique_ptr<TableReader> zipped_rows(std::unique_ptr<TableReader> reader, std::string name,
                                         const std::vector<WantedColumn>& columns);

}  // namespace linac::data
