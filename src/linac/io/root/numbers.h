#pragma once
// Values as they are stored, as floats: the loops that touch every value. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace linac::root {

enum class Type { kBool, kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kInt64, kUint64, kFloat16, kFloat, kDouble };

size_t bytes_of(Type type);
/// "float", "uint16".
const char* to_string(Type type);

/// Appends big-endian values (a tree's); the bytes are a whole number of them.
void append_big(Type type, std::span<const std::byte> bytes, std::vector<float>& out);
/// Appends little-endian values (an RNTuple's).
void append_little(Type type, std::span<const std::byte> bytes, std::vector<float>& out);
/// The bytes of values that were written apart, all first bytes, then all second ones, ..., together again.
void join_split(std::span<const std::byte> split, size_t value_bytes, std::vector<std::byte>& out);
/// Appends big-endian values as they are, little-endian; a bool as 0 or 1.
void copy_big(Type type, std::span<const std::byte> bytes, std::vector<std::byte>& out);
/// Appends every stride-th value of big-endian rows, from `offset` in the row on: `values` a row.
void append_big_rows(Type type, std::span<const std::byte> rows, size_t stride, size_t offset, size_t values,
                     std::vector<float>& out);

}  // namespace linac::root
