#include "linac/io/storage/s3/xml.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "linac/io/storage/percent.h"
#include "linac/io/storage/xml_elements.h"

namespace linac::storage::s3 {
namespace {

constexpr size_t kShownBytesMax = 300;

/// For messages: nothing that a terminal would obey.
std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kShownBytesMax)) shown += c >= ' ' && c <= '~' ? c : ' ';
  return shown;
}

/// Of an answer with encoding-type=url, where '+' is a space.
std::string name_of(std::string text) {
  std::replace(text.begin(), text.end(), '+', ' ');
  return percent_decoded(text);
}

/// As the answer to HEAD has it: some servers leave the quotes out in lists.
std::string quoted(std::string etag) {
  if (etag.empty() || etag.ends_with('"')) return etag;
  return '"' + etag + '"';
}

}  // namespace

std::optional<ListPage> parse_list(std::string_view xml) {
  ListPage page;
  ListedObject object;
  bool is_list = false, numbers = true, encoded = false, more = false;
  const bool whole = each_element(xml, [&](std::string_view path, std::string&& text) {
    constexpr std::string_view kRoot = "ListBucketResult";
    if (!path.starts_with(kRoot)) return;
    path.remove_prefix(kRoot.size());
    if (path.empty()) is_list = true;
    if (path == "/Contents/Key") object.key = std::move(text);
    if (path == "/Contents/Size") {
      const char* const end = text.data() + text.size();
      const auto read = std::from_chars(text.data(), end, object.size);
      numbers = numbers && read.ec == std::errc{} && read.ptr == end && object.size >= 0;
    }
    if (path == "/Contents/ETag") object.etag = quoted(std::move(text));
    if (path == "/Contents") page.objects.push_back(std::exchange(object, {}));
    if (path == "/CommonPrefixes/Prefix") page.prefixes.push_back(std::move(text));
    if (path == "/EncodingType") encoded = text == "url";
    if (path == "/IsTruncated") more = text == "true";
    if (path == "/NextContinuationToken") page.next = std::move(text);
  });
  if (!whole || !is_list || !numbers || (more && page.next.empty())) return std::nullopt;
  if (!more) page.next.clear();
  if (encoded) {
    for (ListedObject& listed : page.objects) listed.key = name_of(std::move(listed.key));
    for (std::string& prefix : page.prefixes) prefix = name_of(std::move(prefix));
  }
  return page;
}

std::optional<ErrorAnswer> parse_error(std::string_view xml) {
  ErrorAnswer error;
  bool is_error = false;
  each_element(xml, [&](std::string_view path, std::string&& text) {
    if (path == "Error") is_error = true;
    if (path == "Error/Code") error.code = printable(text);
    if (path == "Error/Message") error.message = printable(text);
    if (path == "Error/Region") error.region = printable(text);
  });
  if (!is_error || error.code.empty()) return std::nullopt;
  return error;
}

std::optional<std::string> parse_upload_id(std::string_view xml) {
  std::string id;
  const bool whole = each_element(xml, [&](std::string_view path, std::string&& text) {
    if (path == "InitiateMultipartUploadResult/UploadId") id = std::move(text);
  });
  if (!whole || id.empty()) return std::nullopt;
  return id;
}

}  // namespace linac::storage::s3
