#pragma once
// A large file sent in parts, in any order and at the same time: a folder of its own below the uploads until it is put
// together. The upload's id is a secret that stands for the permission to send its parts. Thread-safe for different
// uploads and parts.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace linac::http {

constexpr int64_t kPartsMax = 10000;

/// A new upload's id; `target` is where the file will lie below the artefacts. kInvalid for a path that is no path, or
/// `parts` out of 1 to kPartsMax.
std::string begin_multipart(const std::filesystem::path& uploads, const std::string& target, int64_t parts);
/// Takes `file` as part `number`, from 1; returns its tag. kNotFound for the upload, kInvalid for the number.
std::string put_part(const std::filesystem::path& uploads, const std::string& id, int64_t number,
                     const std::filesystem::path& file);
/// Puts the parts together, in this order, below `artifacts`. kNotFound, kInvalid for a part that is missing or another
/// target.
void complete_multipart(const std::filesystem::path& uploads, const std::filesystem::path& artifacts,
                        const std::string& id, const std::string& target, const std::vector<int64_t>& parts);
void abort_multipart(const std::filesystem::path& uploads, const std::string& id);
/// Removes what uploads left behind: parts older than a day, single files of a former process. At the start of the
/// service.
void clear_uploads(const std::filesystem::path& uploads);

}  // namespace linac::http
