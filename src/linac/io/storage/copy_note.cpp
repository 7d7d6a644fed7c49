#include "linac/io/storage/copy_note.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"

namespace linac::storage {
namespace {

constexpr size_t kDigits = 16;  // of a sum
constexpr size_t kReadBytes = size_t{1} << 20;

XXH3_state_t* of(const std::shared_ptr<void>& state) {
  return static_cast<XXH3_state_t*>(state.get());
}

std::string to_text(const PieceSums& sums) {
  std::string text;
  for (const uint64_t sum : sums) text += fmt::format("{:016x}", sum);
  return text;
}

std::optional<PieceSums> from_text(const std::string& text) {
  if (text.size() % kDigits != 0) return std::nullopt;
  PieceSums sums(text.size() / kDigits);
  for (size_t i = 0; i < sums.size(); ++i) {
    const char* const begin = text.data() + i * kDigits;
    const auto read = std::from_chars(begin, begin + kDigits, sums[i], 16);
    if (read.ec != std::errc{} || read.ptr != begin + kDigits) return std::nullopt;
  }
  return sums;
}

}  // namespace

bool names_version(const Validators& said) {
  return !said.etag.empty() || !said.modified.empty();
}

bool same_content(const Validators& a, const Validators& b) {
  if (!a.etag.empty() || !b.etag.empty()) return a.etag == b.etag;
  return a.size >= 0 && a.size == b.size && a.modified == b.modified;
}

PieceSummer::PieceSummer()
    : state_(XXH3_createState(), [](void* state) { XXH3_freeState(static_cast<XXH3_state_t*>(state)); }) {
  LINAC_CHECK(state_ && XXH3_64bits_reset(of(state_)) == XXH_OK);
}

void PieceSummer::end_piece() {
  sums_.push_back(XXH3_64bits_digest(of(state_)));
  XXH3_64bits_reset(of(state_));
}

void PieceSummer::add(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto now = std::min(bytes.size(), static_cast<size_t>(kSummedBytes - bytes_ % kSummedBytes));
    XXH3_64bits_update(of(state_), bytes.data(), now);
    bytes_ += static_cast<int64_t>(now);
    bytes = bytes.subspan(now);
    if (bytes_ % kSummedBytes == 0) end_piece();
  }
}

PieceSums PieceSummer::finish() {
  if (bytes_ % kSummedBytes != 0) end_piece();
  return std::move(sums_);
}

PieceSums piece_sums_of(const std::filesystem::path& file) {
  const Descriptor open(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  PieceSummer summer;
  std::vector<std::byte> room(kReadBytes);
  for (;;) {
    const ssize_t got = open ? ::read(open.get(), room.data(), room.size()) : -1;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw environment_error(fmt::format("[storage] {}: cannot be read ({}); check disk and permissions",
                                          file.string(), std::strerror(errno)));
    }
    if (got == 0) return summer.finish();
    summer.add(std::span(room).first(static_cast<size_t>(got)));
  }
}

std::filesystem::path note_of(const std::filesystem::path& file) {
  return file.string() + ".json";
}

std::optional<CopyNote> read_note(const std::filesystem::path& file) {
  try {
    const auto json = nlohmann::json::parse(read_file(note_of(file)));
    CopyNote note{{json.at("etag"), json.at("modified"), json.at("size")}, json.value("source", ""), {}};
    if (const auto sums = json.find("xxh3_of_8_mib"); sums != json.end()) note.sums = from_text(*sums);
    return note;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void write_note(const std::filesystem::path& file, const CopyNote& note) {
  nlohmann::json json{
      {"etag", note.said.etag}, {"modified", note.said.modified}, {"size", note.said.size}, {"source", note.source}};
  if (note.sums) json["xxh3_of_8_mib"] = to_text(*note.sums);
  write_file_atomically(note_of(file), json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace linac::storage
