#include "linac/io/root/tree_columns.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <string_view>

namespace linac::root {
namespace {

// TVirtualStreamerInfo::EReadWrite, and the kinds of a TBranchElement.
constexpr int kArrayOffset = 20, kPointerOffset = 40;
constexpr int kClonesNode = 3, kCollectionNode = 4, kClonesMember = 31, kCollectionMember = 41;
constexpr int64_t kRowValuesMax = int64_t{1} << 26;

struct Named {
  std::string_view name;
  Type type;
};
constexpr Named kLeaves[] = {{"TLeafO", Type::kBool},  {"TLeafB", Type::kInt8},  {"TLeafS", Type::kInt16},
                             {"TLeafI", Type::kInt32}, {"TLeafL", Type::kInt64}, {"TLeafG", Type::kInt64},
                             {"TLeafF", Type::kFloat}, {"TLeafD", Type::kDouble}};
constexpr Named kWords[] = {{"bool", Type::kBool},
                            {"char", Type::kInt8},
                            {"signed char", Type::kInt8},
                            {"int8_t", Type::kInt8},
                            {"unsigned char", Type::kUint8},
                            {"uint8_t", Type::kUint8},
                            {"short", Type::kInt16},
                            {"int16_t", Type::kInt16},
                            {"unsigned short", Type::kUint16},
                            {"uint16_t", Type::kUint16},
                            {"int", Type::kInt32},
                            {"int32_t", Type::kInt32},
                            {"unsigned int", Type::kUint32},
                            {"unsigned", Type::kUint32},
                            {"uint32_t", Type::kUint32},
                            {"long", Type::kInt64},
                            {"Long64_t", Type::kInt64},
                            {"long long", Type::kInt64},
                            {"int64_t", Type::kInt64},
                            {"unsigned long", Type::kUint64},
                            {"ULong64_t", Type::kUint64},
                            {"unsigned long long", Type::kUint64},
                            {"uint64_t", Type::kUint64},
                            {"float", Type::kFloat},
                            {"double", Type::kDouble}};

std::optional<Type> find(std::span<const Named> table, std::string_view name) {
  for (const Named& row : table)
    if (row.name == name) return row.type;
  return std::nullopt;
}

Type without_sign(Type type) {
  switch (type) {
    case Type::kInt8:
      return Type::kUint8;
    case Type::kInt16:
      return Type::kUint16;
    case Type::kInt32:
      return Type::kUint32;
    case Type::kInt64:
      return Type::kUint64;
    default:
      return type;
  }
}

std::optional<Type> type_of_streamer(int type) {
  switch (type) {
    case 1:
      return Type::kInt8;
    case 2:
      return Type::kInt16;
    case 3:
    case 6:
      return Type::kInt32;
    case 4:
    case 16:
      return Type::kInt64;
    case 5:
      return Type::kFloat;
    case 8:
      return Type::kDouble;
    case 11:
      return Type::kUint8;
    case 12:
      return Type::kUint16;
    case 13:
    case 15:
      return Type::kUint32;
    case 14:
    case 17:
      return Type::kUint64;
    case 18:
      return Type::kBool;
    default:
      return std::nullopt;
  }
}

/// "x[n][3][2]" has the fixed axes 3 and 2.
std::vector<int64_t> axes_of(std::string_view title) {
  std::vector<int64_t> axes;
  for (size_t open = title.find('['); open != std::string_view::npos; open = title.find('[', open + 1)) {
    int64_t extent = 0;
    const char* const end = title.data() + title.size();
    const auto [stop, failure] = std::from_chars(title.data() + open + 1, end, extent);
    if (failure == std::errc() && stop != end && *stop == ']') axes.push_back(extent);
  }
  return axes;
}

bool set_axes(const Leaf& leaf, ColumnInfo& info) {
  info.extents = axes_of(leaf.title);
  int64_t values = 1;
  for (const int64_t extent : info.extents) {
    if (extent < 1 || values > kRowValuesMax / extent)
      values = std::numeric_limits<int32_t>::max();
    else
      values *= extent;
  }
  if (values != leaf.length)
    info.extents = leaf.length == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{leaf.length};
  return leaf.length >= 1 && leaf.length <= kRowValuesMax;
}

/// "float" of "float,ROOT::Detail::VecOps::RAdoptAllocator<float>": what a template holds, but for its allocator.
std::string_view first_of(std::string_view arguments) {
  int deep = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == '<') ++deep;
    if (arguments[i] == '>') --deep;
    const bool ends = deep == 0 && arguments[i] == ',';
    if (ends && arguments.find("llocator<", i) != std::string_view::npos) return arguments.substr(0, i);
  }
  return arguments;
}

/// "vector<T>" and "vector<vector<T> >" of numbers, RDataFrame's RVec among them, which is stored alike: how deep, and
/// the type.
std::optional<std::pair<int, Type>> vector_of(std::string_view words) {
  int depth = 0;
  const auto trim = [&words] {
    while (words.starts_with(' ')) words.remove_prefix(1);
    while (words.ends_with(' ')) words.remove_suffix(1);
  };
  for (;; ++depth) {
    trim();
    const auto begins = [&words](std::string_view name) {
      const bool does = words.starts_with(name);
      if (does) words.remove_prefix(name.size());
      return does;
    };
    begins("std::");
    if (!words.ends_with('>')) break;
    if (!begins("vector<") && !begins("ROOT::VecOps::RVec<") && !begins("ROOT::RVec<")) break;
    words = first_of(words.substr(0, words.size() - 1));
  }
  const auto type = find(kWords, words);
  if (!type || depth < 1 || depth > 2) return std::nullopt;
  return std::pair(depth, *type);
}

class Description {
 public:
  Description(const Branch& branch, std::string name) : branch_(branch) {
    out_.info.name = std::move(name);
    out_.column.branch = &branch;
    if (branch.events > 0)
      out_.info.bytes_an_event = static_cast<double>(branch.unpacked_bytes) / static_cast<double>(branch.events);
  }

  DescribedColumn refuse(const std::string& why) {
    out_.info.refused = why;
    return out_;
  }

  /// The only leaf of a branch.
  DescribedColumn leaf(const Leaf& leaf) {
    if (leaf.class_name == "TLeafC") return text();
    if (leaf.class_name == "TLeafElement") return element(leaf);
    const auto type = type_of(leaf);
    if (!type) return refuse(leaf.class_name);
    return numbers(leaf, *type, leaf.counted != 0, 0);
  }

  /// One of several leaves that follow one another in an event.
  DescribedColumn part(const Leaf& leaf, size_t offset, size_t stride) {
    const DescribedColumn whole = numbers(leaf, *type_of(leaf), false, 0);
    if (!whole.info.refused.empty()) return whole;
    out_.column.offset = offset;
    out_.column.stride = stride;
    return out_;
  }

  static std::optional<Type> type_of(const Leaf& leaf) {
    const auto type = find(kLeaves, leaf.class_name);
    return type && leaf.is_unsigned ? without_sign(*type) : type;
  }

 private:
  DescribedColumn text() {
    out_.column.stored = TreeColumn::Stored::kText;
    out_.info.type = "text";
    out_.info.is_text = true;
    return out_;
  }

  DescribedColumn numbers(const Leaf& leaf, Type type, bool list, size_t head) {
    if (!set_axes(leaf, out_.info)) return refuse(fmt::format("{} values an event", leaf.length));
    if (list && branch_.makes_offsets) return refuse("a list whose entry offsets are not stored");
    out_.info.type = to_string(type);
    out_.info.lists = list ? 1 : 0;
    out_.column.stored = list ? TreeColumn::Stored::kList : TreeColumn::Stored::kRows;
    out_.column.type = type;
    out_.column.values = static_cast<size_t>(leaf.length);
    out_.column.stride = out_.column.values * bytes_of(type);
    out_.column.head = head;
    return out_;
  }

  DescribedColumn element(const Leaf& leaf) {
    if (const auto vector = vector_of(branch_.element_class);
        vector && branch_.element_type == 0 && (branch_.element_id < 0 || branch_.streamer_type < 0)) {
      const auto [depth, type] = *vector;
      out_.column.stored = depth == 1 ? TreeColumn::Stored::kVector : TreeColumn::Stored::kVectors;
      out_.column.type = type;
      out_.info.type = to_string(type);
      out_.info.lists = depth;
      return out_;
    }
    const bool member = branch_.element_type == kClonesMember || branch_.element_type == kCollectionMember;
    if (branch_.element_type != 0 && !member) return refuse("a base class or object that is split");
    int streamer = branch_.streamer_type;
    const bool pointer = streamer > kPointerOffset && streamer < kPointerOffset + kArrayOffset;
    const bool array = streamer > kArrayOffset && streamer <= kPointerOffset;
    streamer -= pointer ? kPointerOffset : array ? kArrayOffset : 0;
    const auto type = type_of_streamer(streamer);
    if (!type)
      return refuse(fmt::format("an object of {}", branch_.element_class.empty() ? "a class" : branch_.element_class));
    if (pointer && member) return refuse("arrays of many lengths in a collection");
    return numbers(leaf, *type, member || pointer, pointer ? 1 : 0);
  }

  const Branch& branch_;
  DescribedColumn out_;
};

void describe_leaves(const Branch& branch, const std::string& name, std::vector<DescribedColumn>& out) {
  size_t stride = 0;
  const bool plain = std::ranges::all_of(branch.leaves, [&](const Leaf& leaf) {
    const auto type = Description::type_of(leaf);
    if (!type || leaf.counted != 0 || leaf.length < 1 || leaf.length > kRowValuesMax) return false;
    stride += static_cast<size_t>(leaf.length) * bytes_of(*type);
    return true;
  });
  size_t offset = 0;
  for (const Leaf& leaf : branch.leaves) {
    Description description(branch, name + "." + leaf.name);
    if (!plain) {
      out.push_back(description.refuse("lists or texts among several leaves"));
      continue;
    }
    out.push_back(description.part(leaf, offset, stride));
    offset += static_cast<size_t>(leaf.length) * bytes_of(*Description::type_of(leaf));
  }
}

}  // namespace

void describe_branch(const Branch& branch, const std::string& tree, std::vector<DescribedColumn>& out) {
  for (const Branch& below : branch.branches) describe_branch(below, tree, out);
  if (!branch.branches.empty()) return;
  const bool node = branch.element_type == kClonesNode || branch.element_type == kCollectionNode;
  if (branch.class_name != "TBranch" && branch.class_name != "TBranchElement") {
    out.push_back(Description(branch, branch.path).refuse(fmt::format("a {}", branch.class_name)));
  } else if (!branch.file.empty()) {
    out.push_back(Description(branch, branch.path).refuse(fmt::format("its values are in the file '{}'", branch.file)));
  } else if (branch.leaves.empty() || node) {
    out.push_back(Description(branch, branch.path).refuse("it has no values of its own"));
  } else if (branch.leaves.size() == 1) {
    out.push_back(Description(branch, branch.path).leaf(branch.leaves.front()));
  } else {
    describe_leaves(branch, branch.path, out);
  }
}

}  // namespace linac::root
