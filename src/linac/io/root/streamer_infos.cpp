// Members and checksums are those that ROOT 6.40 writes for its own classes, without its comments on them; TAttMarker
// is of the version before it, which has the same members. How they are streamed: ROOT's TStreamerInfo.cxx and
// TStreamerElement.cxx.

#include "linac/io/root/streamer_infos.h"

#include <fmt/format.h>

#include <algorithm>

namespace linac::root {
namespace {

// TVirtualStreamerInfo::EReadWrite.
enum Kind : uint32_t {
  kBase = 0,
  kShort = 2,
  kInt = 3,
  kFloat = 5,
  kCounter = 6,
  kDouble = 8,
  kUChar = 11,
  kUInt = 13,
  kBits = 15,
  kLong64 = 16,
  kBool = 18,
  kInts = 43,  // a pointer to numbers, as many as a counter says
  kLong64s = 56,
  kObject = 61,
  kAny = 62,  // an object that is no TObject
  kPointer = 64,
  kString = 65,
  kObjectBase = 66,  // TObject
  kNamedBase = 67    // TNamed
};

/// How the members of a kind are described.
struct Form {
  Kind kind;
  std::string_view class_name;
  uint16_t version;
  uint32_t bytes;
  std::string_view type;  // empty: the member says it
};
constexpr Form kForms[] = {{kBase, "TStreamerBase", 3, 0, "BASE"},
                           {kObjectBase, "TStreamerBase", 3, 0, "BASE"},
                           {kNamedBase, "TStreamerBase", 3, 0, "BASE"},
                           {kShort, "TStreamerBasicType", 2, 2, "short"},
                           {kInt, "TStreamerBasicType", 2, 4, "int"},
                           {kFloat, "TStreamerBasicType", 2, 4, "float"},
                           {kCounter, "TStreamerBasicType", 2, 4, "int"},
                           {kDouble, "TStreamerBasicType", 2, 8, "double"},
                           {kUChar, "TStreamerBasicType", 2, 1, "unsigned char"},
                           {kUInt, "TStreamerBasicType", 2, 4, "unsigned int"},
                           {kBits, "TStreamerBasicType", 2, 4, "unsigned int"},
                           {kLong64, "TStreamerBasicType", 2, 8, "Long64_t"},
                           {kBool, "TStreamerBasicType", 2, 1, "bool"},
                           {kInts, "TStreamerBasicPointer", 2, 4, "int*"},
                           {kLong64s, "TStreamerBasicPointer", 2, 8, "Long64_t*"},
                           {kObject, "TStreamerObject", 2, 64, ""},
                           {kAny, "TStreamerObjectAny", 2, 24, ""},
                           {kPointer, "TStreamerObjectPointer", 2, 8, ""},
                           {kString, "TStreamerString", 2, 24, "TString"}};

struct Member {
  Kind kind;
  std::string_view name;
  std::string_view of = "";  // the type of an object, the counter of numbers
};

constexpr Member kTree[] = {{kNamedBase, "TNamed"},
                            {kBase, "TAttLine"},
                            {kBase, "TAttFill"},
                            {kBase, "TAttMarker"},
                            {kLong64, "fEntries"},
                            {kLong64, "fTotBytes"},
                            {kLong64, "fZipBytes"},
                            {kLong64, "fSavedBytes"},
                            {kLong64, "fFlushedBytes"},
                            {kDouble, "fWeight"},
                            {kInt, "fTimerInterval"},
                            {kInt, "fScanField"},
                            {kInt, "fUpdate"},
                            {kInt, "fDefaultEntryOffsetLen"},
                            {kCounter, "fNClusterRange"},
                            {kLong64, "fMaxEntries"},
                            {kLong64, "fMaxEntryLoop"},
                            {kLong64, "fMaxVirtualSize"},
                            {kLong64, "fAutoSave"},
                            {kLong64, "fAutoFlush"},
                            {kLong64, "fEstimate"},
                            {kLong64s, "fClusterRangeEnd", "fNClusterRange"},
                            {kLong64s, "fClusterSize", "fNClusterRange"},
                            {kAny, "fIOFeatures", "ROOT::TIOFeatures"},
                            {kObject, "fBranches", "TObjArray"},
                            {kObject, "fLeaves", "TObjArray"},
                            {kPointer, "fAliases", "TList*"},
                            {kAny, "fIndexValues", "TArrayD"},
                            {kAny, "fIndex", "TArrayI"},
                            {kPointer, "fTreeIndex", "TVirtualIndex*"},
                            {kPointer, "fFriends", "TList*"},
                            {kPointer, "fUserInfo", "TList*"},
                            {kPointer, "fBranchRef", "TBranchRef*"}};
constexpr Member kBranch[] = {{kNamedBase, "TNamed"},
                              {kBase, "TAttFill"},
                              {kInt, "fCompress"},
                              {kInt, "fBasketSize"},
                              {kInt, "fEntryOffsetLen"},
                              {kInt, "fWriteBasket"},
                              {kLong64, "fEntryNumber"},
                              {kAny, "fIOFeatures", "ROOT::TIOFeatures"},
                              {kInt, "fOffset"},
                              {kCounter, "fMaxBaskets"},
                              {kInt, "fSplitLevel"},
                              {kLong64, "fEntries"},
                              {kLong64, "fFirstEntry"},
                              {kLong64, "fTotBytes"},
                              {kLong64, "fZipBytes"},
                              {kObject, "fBranches", "TObjArray"},
                              {kObject, "fLeaves", "TObjArray"},
                              {kObject, "fBaskets", "TObjArray"},
                              {kInts, "fBasketBytes", "fMaxBaskets"},
                              {kLong64s, "fBasketEntry", "fMaxBaskets"},
                              {kLong64s, "fBasketSeek", "fMaxBaskets"},
                              {kString, "fFileName"}};
constexpr Member kLeaf[] = {{kNamedBase, "TNamed"},
                            {kInt, "fLen"},
                            {kInt, "fLenType"},
                            {kInt, "fOffset"},
                            {kBool, "fIsRange"},
                            {kBool, "fIsUnsigned"},
                            {kPointer, "fLeafCount", "TLeaf*"}};
constexpr Member kLeafF[] = {{kBase, "TLeaf"}, {kFloat, "fMinimum"}, {kFloat, "fMaximum"}};
constexpr Member kLeafI[] = {{kBase, "TLeaf"}, {kInt, "fMinimum"}, {kInt, "fMaximum"}};
constexpr Member kLeafL[] = {{kBase, "TLeaf"}, {kLong64, "fMinimum"}, {kLong64, "fMaximum"}};
constexpr Member kTObject[] = {{kUInt, "fUniqueID"}, {kBits, "fBits"}};
constexpr Member kNamed[] = {{kObjectBase, "TObject"}, {kString, "fName"}, {kString, "fTitle"}};
constexpr Member kObjString[] = {{kObjectBase, "TObject"}, {kString, "fString"}};
constexpr Member kLine[] = {{kShort, "fLineColor"}, {kShort, "fLineStyle"}, {kShort, "fLineWidth"}};
constexpr Member kFill[] = {{kShort, "fFillColor"}, {kShort, "fFillStyle"}};
constexpr Member kMarker[] = {{kShort, "fMarkerColor"}, {kShort, "fMarkerStyle"}, {kFloat, "fMarkerSize"}};
constexpr Member kFeatures[] = {{kUChar, "fIOBits"}};

struct Class {
  std::string_view name;
  uint32_t version, checksum;
  std::span<const Member> members;
};
constexpr Class kClasses[] = {{"TTree", 20, 0x7264e07f, kTree},
                              {"TBranch", 13, 0x10978aac, kBranch},
                              {"TLeaf", 2, 0x6d1e8152, kLeaf},
                              {"TLeafF", 1, 0x3add9d72, kLeafF},
                              {"TLeafI", 1, 0x7e6aae19, kLeafI},
                              {"TLeafL", 1, 0xde320862, kLeafL},
                              {"TObject", 1, 0x901bc02d, kTObject},
                              {"TNamed", 1, 0xdfb74a3c, kNamed},
                              {"TObjString", 1, 0x9c8e4800, kObjString},
                              {"TAttLine", 2, 0x94074549, kLine},
                              {"TAttFill", 2, 0xffd92a92, kFill},
                              {"TAttMarker", 2, 0x291d8bec, kMarker},
                              {"ROOT::TIOFeatures", 1, 0x1aa12f10, kFeatures}};

const Class& class_named(std::string_view name) {
  return *std::ranges::find(kClasses, name, &Class::name);
}

void put_member(Record& record, const Class& of, const Member& member) {
  const Form& form = *std::ranges::find(kForms, member.kind, &Form::kind);
  const bool is_base = form.class_name == "TStreamerBase", is_pointer = form.class_name == "TStreamerBasicPointer";
  const auto put = [&] {
    record.part(4, [&] {  // TStreamerElement
      record.named(member.name, is_pointer ? fmt::format("[{}]", member.of) : "");
      record.put(uint32_t{member.kind}, form.bytes, uint32_t{0}, uint32_t{0});  // no array
      record.put(uint32_t{0}, is_base ? class_named(member.name).checksum : 0, uint32_t{0}, uint32_t{0}, uint32_t{0});
      record.put_text(form.type.empty() ? member.of : form.type);
    });
    if (is_base) record.put(class_named(member.name).version);
    if (!is_pointer) return;
    record.put(of.version);
    record.put_text(member.of);
    record.put_text(of.name);
  };
  record.pointer(form.class_name, [&] { record.part(form.version, put); });
}

void put_class(Record& record, const Class& one) {
  record.pointer("TStreamerInfo", [&] {
    record.part(9, [&] {
      record.named(one.name, "");
      record.put(one.checksum, one.version);
      record.pointer("TObjArray", [&] {
        record.array(one.members.size(), [&] {
          for (const Member& member : one.members) put_member(record, one, member);
        });
      });
    });
  });
}

}  // namespace

Record streamer_infos() {
  Record record({"TList", "StreamerInfo", "Doubly linked list"});
  record.part(5, [&] {
    record.object();
    record.put_text("");
    record.put(static_cast<uint32_t>(std::size(kClasses)));
    for (const Class& one : kClasses) {
      put_class(record, one);
      record.put_text("");  // the list's option
    }
  });
  return record;
}

}  // namespace linac::root
