#include "linac/io/archive/zip_archive.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <system_error>

#include "linac/base/base/error.h"

namespace linac::archive {
namespace {

constexpr zip_uint16_t kDosDate1980 = (0 << 9) | (1 << 5) | 1;

std::string describe(zip_error_t* error) {
  std::string text = zip_error_strerror(error);
  zip_error_fini(error);
  return text;
}

struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

// Failures while building an archive in memory: out of memory or a bug, never the user's doing.
void require(bool done, zip_t* archive) {
  if (!done)
    throw environment_error(fmt::format("[zip] the archive cannot be built in memory ({})", zip_strerror(archive)));
}

}  // namespace

ZipReader::ZipReader(const std::filesystem::path& path) : path_(path.string()), zip_(nullptr, zip_discard) {
  std::error_code absent;
  archive_bytes_ = std::filesystem::file_size(path, absent);
  if (absent) throw user_error(fmt::format("[zip] {}: cannot be read ({})", path_, absent.message()));
  int code = 0;
  zip_.reset(zip_open(path_.c_str(), ZIP_RDONLY, &code));
  if (!zip_) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    throw user_error(fmt::format("[zip] {}: not a readable zip file ({}); is it complete?", path_, describe(&error)));
  }
}

void ZipReader::fail(const std::string& member, const std::string& why) const {
  throw user_error(fmt::format("[zip] {}: member '{}' {}; is the file complete?", path_, member, why));
}

std::optional<std::string> ZipReader::read(const std::string& member, uint64_t bytes_max) {
  const zip_int64_t index = zip_name_locate(zip_.get(), member.c_str(), ZIP_FL_ENC_RAW);
  if (index < 0) return std::nullopt;
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (zip_stat_index(zip_.get(), static_cast<zip_uint64_t>(index), 0, &stat) != 0 || !(stat.valid & ZIP_STAT_SIZE)) {
    fail(member, "states no size");
  }
  if (stat.size > bytes_max) fail(member, fmt::format("has {} bytes (limit {})", stat.size, bytes_max));
  if (stat.size > kZipExpansionFloorBytes && stat.size / kZipExpansionMax > archive_bytes_) {
    fail(member, fmt::format("unpacks to {} bytes from a file of {} (limit {} times)", stat.size, archive_bytes_,
                             kZipExpansionMax));
  }
  const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(zip_.get(), static_cast<zip_uint64_t>(index), 0));
  if (!file) fail(member, fmt::format("cannot be opened ({})", zip_strerror(zip_.get())));

  std::string content(stat.size, '\0');
  uint64_t position = 0;
  while (position < stat.size) {
    const zip_int64_t got = zip_fread(file.get(), content.data() + position, stat.size - position);
    if (got <= 0) fail(member, fmt::format("ends after {} of {} bytes", position, stat.size));
    position += static_cast<uint64_t>(got);
  }
  // The checksum is compared when the end is reached, so the end has to be read too.
  char beyond = 0;
  if (zip_fread(file.get(), &beyond, 1) != 0) fail(member, "is damaged (checksum or length)");
  return content;
}

std::vector<std::string> ZipReader::members() const {
  const zip_int64_t count = zip_get_num_entries(zip_.get(), 0);
  if (count < 0 || static_cast<size_t>(count) > kZipMembersMax)
    throw user_error(fmt::format("[zip] {}: has {} members (limit {})", path_, count, kZipMembersMax));
  std::vector<std::string> names;
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* const name = zip_get_name(zip_.get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
    names.emplace_back(name == nullptr ? "" : name);
  }
  return names;
}

std::string write_zip(const std::vector<ZipMember>& members) {
  zip_error_t error;
  zip_error_init(&error);
  const std::unique_ptr<zip_source_t, void (*)(zip_source_t*)> target(zip_source_buffer_create(nullptr, 0, 0, &error),
                                                                      zip_source_free);
  if (!target) throw environment_error("[zip] " + describe(&error));
  std::unique_ptr<zip_t, void (*)(zip_t*)> archive(zip_open_from_source(target.get(), ZIP_TRUNCATE, &error),
                                                   zip_discard);
  if (!archive) throw environment_error("[zip] " + describe(&error));
  zip_source_keep(target.get());  // the archive gives its share back when it closes

  for (const ZipMember& member : members) {
    zip_source_t* const source = zip_source_buffer(archive.get(), member.content.data(), member.content.size(), 0);
    require(source != nullptr, archive.get());
    const zip_int64_t added = zip_file_add(archive.get(), member.name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (added < 0) zip_source_free(source);
    require(added >= 0, archive.get());
    const auto index = static_cast<zip_uint64_t>(added);
    require(zip_set_file_compression(archive.get(), index, ZIP_CM_STORE, 0) == 0, archive.get());
    require(zip_file_set_dostime(archive.get(), index, 0, kDosDate1980, 0) == 0, archive.get());
  }
  require(zip_close(archive.get()) == 0, archive.get());
  archive.release();

  zip_stat_t stat;
  zip_stat_init(&stat);
  std::string bytes;
  bool done = zip_source_open(target.get()) == 0 && zip_source_stat(target.get(), &stat) == 0;
  if (done) {
    bytes.resize(stat.size);
    done = zip_source_read(target.get(), bytes.data(), bytes.size()) == static_cast<zip_int64_t>(bytes.size());
    zip_source_close(target.get());
  }
  if (!done) throw environment_error("[zip] the archive cannot be built in memory");
  return bytes;
}

}  // namespace linac::archive
