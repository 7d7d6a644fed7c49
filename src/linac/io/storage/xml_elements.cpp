#include "linac/io/storage/xml_elements.h"

#include <expat.h>

#include <memory>
#include <utility>

namespace linac::storage {
namespace {

constexpr int kDepthMax = 16;
constexpr size_t kTextBytesMax = 16 << 10, kNameBytesMax = 128;

/// "href" of "D:href".
std::string_view without_prefix(std::string_view name) {
  return name.substr(name.find(':') + 1);
}

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
    const std::string_view tag = without_prefix(name);
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
    const size_t tag = without_prefix(name).size();
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

}  // namespace

bool each_element(std::string_view xml, const TakeElement& take) {
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

}  // namespace linac::storage
