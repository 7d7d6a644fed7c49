#include "linac/storage/s3/xml.h"

#include <expat.h>

#include <charconv>
#include <functional>
#include <memory>
#include <utility>

#include "linac/storage/s3/address.h"

namespace linac::storage::s3 {
namespace {

constexpr int kDepthMax = 16;
constexpr size_t kTextBytesMax = 16 << 10, kNameBytesMax = 128;
constexpr size_t kShownBytesMax = 300;

/// Called at the end of each element with the names of all that are open, as "ListBucketResult/Contents/Key", and the
/// text in it.
using TakeElement = std::function<void(std::string_view path, std::string&& text)>;

struct Parsing {
  XML_Parser parser;
  const TakeElement& take;
  std::string path{}, text{};
  int depth = 0;
  bool too_much = false;

  void stop() {
    too_much = true;
    XML_StopParser(parser, XML_FALSE);
  }
  static void begin(void* self_pointer, const XML_Char* name, const XML_Char**) {
    auto& self = *static_cast<Parsing*>(self_pointer);
    const std::string_view tag(name);
    if (++self.depth > kDepthMax || tag.size() > kNameBytesMax) return self.stop();
    if (!self.path.empty()) self.path += '/';
    self.path += tag;
    self.text.clear();
  }
  static void end(void* self_pointer, const XML_Char* name) {
    auto& self = *static_cast<Parsing*>(self_pointer);
    --self.depth;
    self.take(self.path, std::move(self.text));
    self.text.clear();
    const size_t tag = std::string_view(name).size();
    self.path.resize(self.path.size() > tag ? self.path.size() - tag - 1 : 0);
  }
  static void characters(void* self_pointer, const XML_Char* data, int size) {
    auto& self = *static_cast<Parsing*>(self_pointer);
    if (self.text.size() + static_cast<size_t>(size) > kTextBytesMax) return self.stop();
    self.text.append(data, static_cast<size_t>(size));
  }
  static void document_type(void* self_pointer, const XML_Char*, const XML_Char*, const XML_Char*, int) {
    static_cast<Parsing*>(self_pointer)->stop();  // entities of its own: no object store has any
  }
};

bool parse(std::string_view xml, const TakeElement& take) {
  if (xml.size() > kXmlBytesMax) return false;
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate(nullptr), XML_ParserFree);
  if (!parser) return false;
  Parsing parsing{.parser = parser.get(), .take = take};
  XML_SetUserData(parser.get(), &parsing);
  XML_SetElementHandler(parser.get(), Parsing::begin, Parsing::end);
  XML_SetCharacterDataHandler(parser.get(), Parsing::characters);
  XML_SetStartDoctypeDeclHandler(parser.get(), Parsing::document_type);
  const auto status = XML_Parse(parser.get(), xml.data(), static_cast<int>(xml.size()), 1);
  return status == XML_STATUS_OK && !parsing.too_much;
}

/// For messages: nothing that a terminal would obey.
std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kShownBytesMax)) shown += c >= ' ' && c <= '~' ? c : ' ';
  return shown;
}

}  // namespace

std::optional<ListPage> parse_list(std::string_view xml) {
  ListPage page;
  ListedObject object;
  bool is_list = false, numbers = true, encoded = false, more = false;
  const bool whole = parse(xml, [&](std::string_view path, std::string&& text) {
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
    if (path == "/Contents") page.objects.push_back(std::exchange(object, {}));
    if (path == "/CommonPrefixes/Prefix") page.prefixes.push_back(std::move(text));
    if (path == "/EncodingType") encoded = text == "url";
    if (path == "/IsTruncated") more = text == "true";
    if (path == "/NextContinuationToken") page.next = std::move(text);
  });
  if (!whole || !is_list || !numbers || (more && page.next.empty())) return std::nullopt;
  if (!more) page.next.clear();
  if (encoded) {
    for (ListedObject& listed : page.objects) listed.key = percent_decoded(listed.key);
    for (std::string& prefix : page.prefixes) prefix = percent_decoded(prefix);
  }
  return page;
}

std::optional<ErrorAnswer> parse_error(std::string_view xml) {
  ErrorAnswer error;
  bool is_error = false;
  parse(xml, [&](std::string_view path, std::string&& text) {
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
  const bool whole = parse(xml, [&](std::string_view path, std::string&& text) {
    if (path == "InitiateMultipartUploadResult/UploadId") id = std::move(text);
  });
  if (!whole || id.empty()) return std::nullopt;
  return id;
}

}  // namespace linac::storage::s3
