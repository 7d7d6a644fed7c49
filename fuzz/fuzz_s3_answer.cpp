// Answers of an object store: lists, errors and upload ids; manifests of folders.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "linac/base/base/error.h"
#include "linac/io/storage/folder/manifest.h"
#include "linac/io/storage/s3/xml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace linac::storage::s3;
  const std::string_view xml(reinterpret_cast<const char*>(data), size);
  if (const auto page = parse_list(xml)) {
    for (const ListedObject& object : page->objects) LINAC_CHECK(object.size >= 0);
  }
  if (const auto error = parse_error(xml)) {
    for (const char c : error->code + error->message + error->region) LINAC_CHECK(c >= ' ' && c <= '~');
  }
  parse_upload_id(xml);
  try {
    using namespace linac::storage;
    const Manifest manifest = parse_manifest(xml, "m");
    for (const ManifestFile& file : manifest.files) LINAC_CHECK(is_inner_name(file.name) && is_inner_name(file.object));
    LINAC_CHECK(parse_manifest(to_text(manifest), "m").files == manifest.files);
  } catch (const linac::Error&) {
  }
  return 0;
}
