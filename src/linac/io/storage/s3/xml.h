#pragma once
// The answers of an object store, which are XML and foreign bytes: of bounded size, depth and number of texts, and
// without a document type. Thread-safe functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linac/io/storage/xml_elements.h"  // a thousand objects with the longest keys are 6 MiB of its 16

namespace linac::storage::s3 {

struct ListedObject {
  std::string key;
  int64_t size = 0;
  std::string etag = {};  // quoted; empty where the server does not say it
};
/// One answer to ListObjectsV2.
struct ListPage {
  std::vector<ListedObject> objects;
  std::vector<std::string> prefixes;  // "folders": what the keys have in common up to the next slash
  std::string next;                   // the token of the next page; empty at the end
};
/// Nothing if the text is no such answer, or a number in it is none.
std::optional<ListPage> parse_list(std::string_view xml);

/// <Error>: the code, as "NoSuchKey", the server's words, and the region of a bucket that is elsewhere. Only letters,
/// digits and signs that can be printed, of bounded length.
struct ErrorAnswer {
  std::string code, message, region;
};
std::optional<ErrorAnswer> parse_error(std::string_view xml);

/// <UploadId> of the answer to CreateMultipartUpload.
std::optional<std::string> parse_upload_id(std::string_view xml);

}  // namespace linac::storage::s3
