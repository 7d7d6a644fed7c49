#pragma once
// Arrow's nested lists as rows of numbers. For the sources of this module only: needs Arrow's headers.

#include <arrow/api.h>

#include <optional>
#include <string_view>
#include <vector>

#include "linac/io/data/formats/table_reader.h"

namespace linac::data {

/// "float", "list<list<int32>>".
std::string describe_type(const arrow::DataType& type);

/// True for numbers, and for lists (of lists ...) of numbers.
bool holds_numbers(const arrow::DataType& type);

/// Lists around its numbers.
int list_depth(const arrow::DataType& type);
/// Of its innermost values.
const arrow::DataType& leaf_of(const arrow::DataType& type);
/// True where its numbers are true and false.
bool holds_booleans(const arrow::DataType& type);

/// True for texts (bytes, too), as they are or by a dictionary, and for lists of them, which must hold one each.
bool holds_texts(const arrow::DataType& type);

/// Appends numbers, booleans as 0 and 1. T: float, double, int64_t.
template <class T>
void append_numbers(const arrow::Array& array, std::vector<T>& out);

/// The text of element i, through a dictionary if there is one; nothing for a null. `array` holds texts, no lists.
std::optional<std::string_view> text_of(const arrow::Array& array, int64_t i);

/// The places of the texts of `array` in `codes`, one an event. Data error for a null, for a list of another number of
/// texts than one, and those of TextCodes::code().
RaggedColumn codes_of(const arrow::Array& array, int64_t first_event, TextCodes& codes);

/// The rows of `array`, whose element i is the event first_event + i, as float32 (or exact). Data error naming file,
/// column and event for a null and for rows that do not fit `wanted`.
RaggedColumn rows_of(const std::shared_ptr<arrow::Array>& array, const std::string& name, const WantedColumn& wanted,
                     int64_t first_event);

}  // namespace linac::data
