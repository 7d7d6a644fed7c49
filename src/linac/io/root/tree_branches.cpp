// TTree of versions 16 to 20, TBranch 10 to 13 and TBranchElement 8 to 10: ROOT 5.16 and later. TTree 5, TBranch 8 and
// TBranchElement 1: the trees of Geant4's own analysis manager (tools::wroot), laid out as ROOT 3's.

#include "linac/io/root/tree_branches.h"

#include <algorithm>

#include "linac/io/root/objects.h"

namespace linac::root {
namespace {

constexpr uint16_t kGeant4Tree = 5, kGeant4Branch = 8, kGeant4Element = 1;

class TreeRecord {
 public:
  TreeRecord(const File& file, const Key& key)
      : bytes_(file.content(key)),
        objects_(Cursor(bytes_, file.say(fmt::format("the tree '{}'", key.name))), key.head) {}

  Tree read(const Key& key) {
    if (key.class_name != "TTree") objects_.begin();  // TNtuple: a TTree and the number of its columns
    const Part part = objects_.begin();
    if (part.version != kGeant4Tree && (part.version < 16 || part.version > 20))
      not_read(fmt::format("is of version {}, and those of ROOT 5.16 and later and of Geant4 are read", part.version));
    objects_.named();
    for (int i = 0; i < 3; ++i) objects_.pass();  // line, fill, marker
    is_geant4_ = part.version == kGeant4Tree;
    Tree tree{.name = key.name, .events = is_geant4_ ? whole() : cursor().big<int64_t>(), .branches = {}};
    if (tree.events < 0) cursor().fail("holds a negative number of events");
    if (is_geant4_)
      cursor().skip(3 * 8 + 7 * 4);
    else
      skip_settings(part.version);
    tree.branches = branches("");
    return tree;
  }

  /// Behind read().
  TreeRelations relations() {
    TreeRelations found;
    if (is_geant4_) return found;                           // it has none
    objects_.pass();                                        // leaves
    pass_pointer();                                         // aliases
    cursor().skip(uint64_t{cursor().big<uint32_t>()} * 8);  // values of an index, and their places: of an old form
    cursor().skip(uint64_t{cursor().big<uint32_t>()} * 4);
    if (const Pointer pointer = objects_.pointer(); pointer.is_new()) {
      found.index = index(pointer);
      cursor().go_to(pointer.end);
    }
    if (const Pointer pointer = objects_.pointer(); pointer.class_name == "TList") found.friends = friends();
    return found;
  }

 private:
  Cursor& cursor() { return objects_.cursor(); }
  [[noreturn]] void not_read(const std::string& why) {
    throw NotRead(fmt::format("{} {}; write it anew with a ROOT of today", cursor().what(), why));
  }
  /// A count that is stored as a double.
  int64_t whole() {
    constexpr double kEnd = 9007199254740992;  // 2^53
    const auto number = cursor().big<double>();
    if (!(number >= 0 && number < kEnd)) cursor().fail("states a count that is none");
    return static_cast<int64_t>(number);
  }

  void skip_settings(uint16_t version) {
    cursor().skip(3 * 8 + (version >= 18 ? 8 : 0) + 8 + 3 * 4 + (version >= 17 ? 4 : 0));
    const uint64_t ranges = version >= 19 ? cursor().big<uint32_t>() : 0;
    cursor().skip(5 * 8 + (version >= 18 ? 8 : 0));
    if (version >= 19) cursor().skip(2 * (1 + 8 * ranges));
    if (version >= 20) objects_.pass();  // input/output features
  }

  void pass_pointer() {
    if (const Pointer pointer = objects_.pointer(); pointer.is_new()) cursor().go_to(pointer.end);
  }

  std::string index(const Pointer& pointer) {
    if (pointer.class_name != "TTreeIndex") return "a " + pointer.class_name;
    objects_.begin();
    objects_.pass();  // TVirtualIndex
    const std::string major = read_string(cursor()), minor = read_string(cursor());
    return minor.empty() || minor == "0" ? major : major + ", " + minor;
  }

  /// A TList of TFriendElements.
  std::vector<Friend> friends() {
    std::vector<Friend> found;
    objects_.begin();
    objects_.object();
    read_string(cursor());
    const auto count = cursor().big<uint32_t>();
    for (uint32_t i = 0; i < count; ++i) {
      const Pointer pointer = objects_.pointer();
      if (pointer.class_name == "TFriendElement") {
        objects_.begin();
        Friend& one = found.emplace_back();
        one.name = objects_.named(&one.file);
        one.tree = read_string(cursor());
      }
      if (pointer.is_new()) cursor().go_to(pointer.end);
      read_string(cursor());  // an option
    }
    return found;
  }

  /// A TObjArray of branches.
  std::vector<Branch> branches(const std::string& parent) {
    const Objects::Level level(objects_);
    std::vector<Branch> found;
    for (uint32_t left = objects_.array(); left > 0; --left) {
      const Pointer pointer = objects_.pointer();
      if (!pointer.is_new()) continue;
      found.push_back(branch(pointer, parent));
      cursor().go_to(pointer.end);
    }
    return found;
  }

  Branch branch(const Pointer& pointer, const std::string& parent) {
    Branch found;
    found.class_name = pointer.class_name;
    if (pointer.class_name == "TBranch") {
      basics(found, parent);
    } else if (pointer.class_name == "TBranchElement") {
      const Part part = objects_.begin();
      basics(found, parent);
      element(found, part.version);
    } else {  // TBranchObject, TBranchClones, TBranchRef: a TBranch and more
      objects_.begin();
      basics(found, parent);
    }
    return found;
  }

  void basics(Branch& branch, const std::string& parent) {
    const Part part = objects_.begin();
    const bool is_geant4 = part.version == kGeant4Branch;
    if (!is_geant4 && (part.version < 10 || part.version > 13))
      not_read(fmt::format("has a branch of version {}", part.version));
    branch.name = objects_.named();
    branch.path = parent.empty() ? branch.name : parent + "/" + branch.name;
    objects_.pass();       // fill
    cursor().skip(3 * 4);  // compression, basket size, length of offsets
    const auto written = cursor().big<int32_t>();
    cursor().skip(is_geant4 ? 4 : 8);  // the number of the next entry
    if (part.version >= 13) features(branch);
    cursor().skip(4);  // offset
    const auto slots = cursor().big<uint32_t>();
    cursor().skip(4);  // split level
    branch.events = is_geant4 ? whole() : cursor().big<int64_t>();
    if (part.version >= 11) cursor().skip(8);  // its first entry
    branch.unpacked_bytes = is_geant4 ? whole() : cursor().big<int64_t>();
    cursor().skip(8);
    branch.branches = branches(branch.path);
    leaves(branch);
    baskets(branch, slots, written, is_geant4);
    branch.file = read_string(cursor());
    objects_.finish(part);
  }

  void features(Branch& branch) {
    constexpr uint8_t kGenerateOffsets = 1;
    const Part part = objects_.begin();
    if (part.version == 0) cursor().skip(4);  // the checksum of a class without versions
    branch.makes_offsets = part.end > cursor().position() && (cursor().big<uint8_t>() & kGenerateOffsets) != 0;
    objects_.finish(part);
  }

  void leaves(Branch& branch) {
    for (uint32_t left = objects_.array(); left > 0; --left) {
      const Pointer pointer = objects_.pointer();
      if (!pointer.is_new()) continue;
      branch.leaves.push_back(leaf(pointer));
      cursor().go_to(pointer.end);
    }
  }

  Leaf leaf(const Pointer& pointer) {
    const Objects::Level level(objects_);
    Leaf found;
    found.class_name = pointer.class_name;
    found.place = pointer.place;
    objects_.begin();  // of TLeafF and the like
    const Part part = objects_.begin();
    found.name = objects_.named(&found.title);
    found.length = cursor().big<int32_t>();
    found.value_bytes = cursor().big<int32_t>();
    cursor().skip(4 + 1);  // offset, whether it has a range
    found.is_unsigned = cursor().big<uint8_t>() != 0;
    const Pointer counted = objects_.pointer();
    found.counted = counted.place;
    if (counted.is_new()) {
      leaf(counted);
      cursor().go_to(counted.end);
    }
    if (part.end != 0) objects_.finish(part);
    return found;
  }

  void baskets(Branch& branch, uint32_t slots, int32_t written, bool is_geant4) {
    std::vector<std::pair<uint32_t, Basket>> kept;
    const uint32_t count = objects_.array();
    for (uint32_t i = 0; i < count; ++i) {
      const Pointer pointer = objects_.pointer();
      if (!pointer.is_new()) continue;
      if (pointer.class_name == "TBasket") kept.emplace_back(i, kept_basket());
      cursor().go_to(pointer.end);
    }
    const std::vector<uint32_t> bytes = numbers<uint32_t>(slots);
    const std::vector<int64_t> first = is_geant4 ? numbers<int64_t, int32_t>(slots) : numbers<int64_t>(slots);
    const std::vector<uint64_t> seek = is_geant4 ? narrow_or_wide(slots) : numbers<uint64_t>(slots);
    const auto stored = static_cast<uint32_t>(std::clamp<int64_t>(written, 0, static_cast<int64_t>(seek.size())));
    if (bytes.size() != seek.size() || first.size() != seek.size())
      cursor().fail("has a branch without its baskets; it");
    slots = static_cast<uint32_t>(seek.size());
    for (uint32_t i = 0; i < stored; ++i)
      branch.baskets.push_back(
          {.seek = seek[i], .bytes = bytes[i], .first = first[i], .events = 0, .kept = {}, .kept_offsets = {}});
    for (auto& [slot, basket] : kept) {
      if (slot > stored || slot >= slots || basket.events == 0) continue;
      basket.first = first[slot];
      if (slot == stored)
        branch.baskets.push_back(std::move(basket));
      else if (seek[slot] == 0)
        branch.baskets[slot] = std::move(basket);
    }
    for (size_t i = 0; i < branch.baskets.size(); ++i) {
      Basket& basket = branch.baskets[i];
      const int64_t end = i + 1 < branch.baskets.size() ? branch.baskets[i + 1].first : branch.events;
      if (basket.first < 0 || end < basket.first || (i == 0 && basket.first != 0))
        cursor().fail(fmt::format("has baskets of the branch '{}' that do not follow one another; it", branch.name));
      basket.events = end - basket.first;
    }
  }

  template <class T, class Stored = T>
  std::vector<T> numbers(uint32_t count) {
    const bool there = cursor().big<uint8_t>() != 0;
    if (!there) return std::vector<T>(0);
    const auto bytes = cursor().take(uint64_t{count} * sizeof(Stored));
    Cursor values(bytes, cursor().what());
    std::vector<T> out(count);
    for (T& value : out) value = static_cast<T>(values.big<Stored>());
    return out;
  }

  /// Places in the file: 2 in front says that they have eight bytes each.
  std::vector<uint64_t> narrow_or_wide(uint32_t count) {
    Cursor ahead = cursor();
    return ahead.big<uint8_t>() == 2 ? numbers<uint64_t>(count) : numbers<uint64_t, uint32_t>(count);
  }

  /// A TBasket as part of the record: its key, its sizes, its offsets and its buffer, which begins with the key.
  Basket kept_basket() {
    const Key key = read_key(cursor());
    cursor().skip(2 + 4);  // version, size of the buffer
    const auto features = cursor().big<int32_t>();
    if (features < 0) cursor().skip(1);
    Basket basket;
    const auto events = cursor().big<int32_t>();
    const auto last = cursor().big<int32_t>();
    const auto flag = cursor().big<uint8_t>();
    if (events < 0 || last < key.head) cursor().fail("has a basket of a wrong size");
    basket.events = events;
    if (flag != 0 && flag < 80 && flag % 10 != 2) {
      if (events > 0) basket.kept_offsets = offsets(key.head);
      if (flag > 40) offsets(0);
    }
    if (flag != 1 && flag <= 10) {
      basket.events = 0;
      return basket;
    }
    const auto buffer = cursor().take(static_cast<uint32_t>(last));
    basket.kept = std::make_shared<std::vector<std::byte>>(buffer.begin() + key.head, buffer.end());
    return basket;
  }

  std::vector<int32_t> offsets(uint16_t head) {
    const auto count = cursor().big<uint32_t>();
    Cursor values(cursor().take(uint64_t{count} * 4), cursor().what());
    std::vector<int32_t> out(count);
    for (int32_t& value : out) value = values.big<int32_t>() - head;
    return out;
  }

  void element(Branch& branch, uint16_t version) {
    branch.element_class = read_string(cursor());
    if (version == kGeant4Element) {
      cursor().skip(4);  // version of the class
    } else {
      read_string(cursor());
      read_string(cursor());
      cursor().skip(4 + (version >= 10 ? 2 : 4));  // checksum, version of the class
    }
    branch.element_id = cursor().big<int32_t>();
    branch.element_type = cursor().big<int32_t>();
    branch.streamer_type = cursor().big<int32_t>();
  }

  std::vector<std::byte> bytes_;
  Objects objects_;
  bool is_geant4_ = false;
};

}  // namespace

Tree read_tree(const File& file, const Key& key) {
  return TreeRecord(file, key).read(key);
}

TreeRelations read_relations(const File& file, const Key& key) {
  TreeRecord record(file, key);
  record.read(key);
  return record.relations();
}

}  // namespace linac::root
