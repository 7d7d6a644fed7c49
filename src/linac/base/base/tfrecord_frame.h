#pragma once
// The frame of one record in a TFRecord file, which TensorBoard's event files share:
//   length (uint64) · masked CRC-32C of the length · data · masked CRC-32C of the data, all little-endian.
// Pure, thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace linac {

constexpr uint64_t kTfrecordHeaderBytes = 12;
constexpr uint64_t kTfrecordFooterBytes = 4;

/// The record with its frame, ready to be appended to a file.
std::string tfrecord_frame(std::string_view record);

/// The length in a frame's header of kTfrecordHeaderBytes bytes; data error when its checksum does not fit.
uint64_t tfrecord_length(std::span<const std::byte> header);
/// Whether the footer of kTfrecordFooterBytes bytes fits the data.
bool tfrecord_data_intact(std::span<const std::byte> data, std::span<const std::byte> footer);

}  // namespace linac
