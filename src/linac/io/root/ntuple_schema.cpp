#include "linac/io/root/ntuple_schema.h"

#include <xxhash.h>

#include <algorithm>

#include "linac/io/root/blocks.h"

namespace linac::root {
namespace {

constexpr uint16_t kHeader = 1, kFooter = 2, kPageList = 3;
constexpr size_t kPagesMax = size_t{1} << 26;

/// A record or a list inside an envelope; the cursor stands at its first item.
struct Frame {
  size_t end = 0;
  uint32_t items = 0;
};

Frame begin_frame(Cursor& cursor) {
  const size_t begin = cursor.position();
  const auto size = cursor.little<int64_t>();
  const uint64_t bytes = size < 0 ? ~static_cast<uint64_t>(size) + 1 : static_cast<uint64_t>(size);
  if (bytes < 8 || bytes - 8 > cursor.left()) cursor.fail("has a frame of a wrong size");
  Frame frame{.end = begin + bytes, .items = 0};
  if (size < 0) frame.items = cursor.little<uint32_t>();
  // An item takes a byte at least, so a loop over them is bounded.
  if (frame.items > bytes) cursor.fail("has a list that is longer than its frame");
  return frame;
}

template <class F>
void for_each_item(Cursor& cursor, F&& read) {
  const Frame list = begin_frame(cursor);
  for (uint32_t i = 0; i < list.items; ++i) {
    const Frame item = begin_frame(cursor);
    read(item);
    cursor.go_to(item.end);
  }
  cursor.go_to(list.end);
}

std::string text(Cursor& cursor) {
  return cursor.text(cursor.little<uint32_t>());
}

struct Place {
  uint64_t seek = 0, bytes = 0;
};

Place locator(Cursor& cursor) {
  const auto size = cursor.little<int32_t>();
  if (size >= 0) return {.seek = cursor.little<uint64_t>(), .bytes = static_cast<uint32_t>(size)};
  const auto kind = (static_cast<uint32_t>(size) >> 24) & 0x7F;
  if (kind != 1) cursor.fail(fmt::format("has data of kind {}, not in this file", kind));
  const auto bytes = cursor.little<uint64_t>();
  return {.seek = cursor.little<uint64_t>(), .bytes = bytes};
}

struct Envelope {
  Place place;
  uint64_t unpacked = 0;
};

class NtupleRecords {
 public:
  NtupleRecords(const File& file, const Key& key) : file_(file), name_(key.name) { ntuple_.name = key.name; }

  Ntuple read(const Key& key) {
    const auto [header, footer] = anchor(key);
    read_header(header);
    read_footer(footer);
    link_fields();
    order_clusters();
    return std::move(ntuple_);
  }

 private:
  std::string where(const std::string& part) const {
    return file_.say(fmt::format("{} of the RNTuple '{}'", part, name_));
  }

  std::pair<Envelope, Envelope> anchor(const Key& key) {
    const std::vector<std::byte> bytes = file_.content(key);
    Cursor cursor(bytes, where("the anchor"));
    cursor.skip(4 + 2);  // byte count, version of the class
    const size_t begin = cursor.position();
    const auto epoch = cursor.big<uint16_t>();
    if (epoch != 1)
      cursor.fail(fmt::format("is of format {}, before the first public one; ROOT 6.34 or later writes 1; it", epoch));
    cursor.skip(3 * 2);
    Envelope found[2];
    for (Envelope& envelope : found) {
      envelope.place.seek = cursor.big<uint64_t>();
      envelope.place.bytes = cursor.big<uint64_t>();
      envelope.unpacked = cursor.big<uint64_t>();
    }
    const auto largest = cursor.big<uint64_t>();
    const uint64_t hash = XXH3_64bits(bytes.data() + begin, cursor.position() - begin);
    if (cursor.left() < 8 || cursor.big<uint64_t>() != hash) cursor.fail("does not match its checksum");
    if (largest != 0 && (found[0].place.bytes > largest || found[1].place.bytes > largest))
      cursor.fail("names a header or footer in several records, which is not read; it");
    return {found[0], found[1]};
  }

  /// The content of an envelope between its head and its checksum, which is returned in `hash`.
  std::vector<std::byte> envelope(const Envelope& from, uint16_t type, const std::string& what, uint64_t& hash) {
    std::vector<std::byte> packed, room;
    file_.read(from.place.seek, from.place.bytes, packed);
    const auto bytes = unpacked(packed, from.unpacked, room, what);
    Cursor cursor(bytes, what);
    if (bytes.size() < 16) cursor.fail("is too short");
    const auto head = cursor.little<uint64_t>();
    if ((head & 0xFFFF) != type || head >> 16 != bytes.size()) cursor.fail("has a wrong head");
    const size_t end = bytes.size() - 8;
    hash = Cursor(bytes.subspan(end), what).little<uint64_t>();
    if (XXH3_64bits(bytes.data(), end) != hash) cursor.fail("does not match its checksum");
    const auto content = bytes.subspan(8, end - 8);
    return {content.begin(), content.end()};
  }

  void need_no_features(Cursor& cursor) {
    if (cursor.little<uint64_t>() != 0) cursor.fail("needs features that are not known; it");
  }

  void need_header(Cursor& cursor) {
    if (cursor.little<uint64_t>() != header_hash_) cursor.fail("belongs to another header");
  }

  void read_header(const Envelope& from) {
    const std::string what = where("the header");
    const auto bytes = envelope(from, kHeader, what, header_hash_);
    Cursor cursor(bytes, what);
    need_no_features(cursor);
    for (int i = 0; i < 3; ++i) text(cursor);  // name, description, writer
    read_schema(cursor);
  }

  void read_schema(Cursor& cursor) {
    for_each_item(cursor, [&](const Frame&) { read_field(cursor); });
    for_each_item(cursor, [&](const Frame&) { read_column(cursor); });
    for_each_item(cursor, [&](const Frame&) {
      const auto column = cursor.little<uint32_t>();
      attach(cursor, column, cursor.little<uint32_t>());
    });
    for_each_item(cursor, [](const Frame&) {});
  }

  void read_field(Cursor& cursor) {
    cursor.skip(2 * 4);
    Field field;
    field.parent = cursor.little<uint32_t>();
    field.role = static_cast<FieldRole>(cursor.little<uint16_t>());
    const auto flags = cursor.little<uint16_t>();
    field.name = text(cursor);
    field.type = text(cursor);
    text(cursor);
    text(cursor);
    if ((flags & 1) != 0) field.repeated = cursor.little<uint64_t>();
    ntuple_.fields.push_back(std::move(field));
  }

  void read_column(Cursor& cursor) {
    NtupleColumn column;
    column.type = cursor.little<uint16_t>();
    column.bits = cursor.little<uint16_t>();
    const auto field = cursor.little<uint32_t>();
    const auto flags = cursor.little<uint16_t>();
    const auto representation = cursor.little<uint16_t>();
    if ((flags & 1) != 0) column.first = cursor.little<int64_t>();
    if ((flags & 2) != 0) {
      column.least = cursor.little<double>();
      column.most = cursor.little<double>();
    }
    ntuple_.columns.push_back(column);
    if (representation == 0) return attach(cursor, static_cast<uint32_t>(ntuple_.columns.size() - 1), field);
    if (field < ntuple_.fields.size()) ntuple_.fields[field].other_columns = true;
  }

  void attach(Cursor& cursor, uint32_t column, uint32_t field) {
    if (field >= ntuple_.fields.size() || column >= ntuple_.columns.size()) cursor.fail("has a column of no field");
    ntuple_.fields[field].columns.push_back(column);
  }

  void link_fields() {
    auto& fields = ntuple_.fields;
    for (uint32_t i = 0; i < fields.size(); ++i) {
      const uint32_t parent = fields[i].parent;
      if (parent == i) continue;
      // A parent comes first, so no field is its own ancestor.
      if (parent > i) throw data_error(where("the header") + " has a field whose parent follows it; write it again");
      fields[parent].fields.push_back(i);
    }
  }

  void read_footer(const Envelope& from) {
    const std::string what = where("the footer");
    uint64_t hash = 0;
    const auto bytes = envelope(from, kFooter, what, hash);
    Cursor cursor(bytes, what);
    need_no_features(cursor);
    need_header(cursor);
    const Frame extension = begin_frame(cursor);
    if (cursor.position() < extension.end) read_schema(cursor);
    cursor.go_to(extension.end);
    for_each_item(cursor, [&](const Frame&) {
      cursor.skip(2 * 8);  // the events that the group covers
      const auto clusters = cursor.little<uint32_t>();
      Envelope list;
      list.unpacked = cursor.little<uint64_t>();
      list.place = locator(cursor);
      read_page_list(list, clusters);
    });
  }

  void read_page_list(const Envelope& from, uint32_t clusters) {
    const std::string what = where("a list of pages");
    uint64_t hash = 0;
    const auto bytes = envelope(from, kPageList, what, hash);
    Cursor cursor(bytes, what);
    need_header(cursor);
    const size_t begin = ntuple_.clusters.size();
    for_each_item(cursor, [&](const Frame&) {
      Cluster cluster;
      cluster.first = cursor.little<int64_t>();
      const auto events = cursor.little<uint64_t>();
      cluster.events = static_cast<int64_t>(events & ((uint64_t{1} << 56) - 1));
      if ((events >> 56 & 1) != 0) cursor.fail("has a cluster in several parts, which is not read; it");
      ntuple_.clusters.push_back(std::move(cluster));
    });
    size_t next = begin;
    if (ntuple_.clusters.size() - begin != clusters) cursor.fail("has another number of clusters than said");
    for_each_item(cursor, [&](const Frame& columns) {
      if (next == ntuple_.clusters.size()) cursor.fail("has pages of a cluster that is not listed");
      Cluster& cluster = ntuple_.clusters[next++];
      for (uint32_t i = 0; i < columns.items; ++i) cluster.columns.push_back(read_pages(cursor));
    });
    if (next != ntuple_.clusters.size()) cursor.fail("lacks the pages of a cluster");
  }

  ColumnPages read_pages(Cursor& cursor) {
    const Frame frame = begin_frame(cursor);
    ColumnPages found;
    for (uint32_t i = 0; i < frame.items; ++i) {
      if (++pages_ > kPagesMax) cursor.fail("has more pages than are read");
      const auto elements = cursor.little<int32_t>();
      const Place place = locator(cursor);
      Page page{.seek = place.seek, .bytes = place.bytes, .elements = 0, .has_checksum = elements < 0};
      page.elements = elements < 0 ? 0U - static_cast<uint32_t>(elements) : static_cast<uint32_t>(elements);
      found.elements += page.elements;
      found.pages.push_back(page);
    }
    found.is_suppressed = cursor.little<int64_t>() < 0;
    cursor.go_to(frame.end);
    return found;
  }

  void order_clusters() {
    std::ranges::sort(ntuple_.clusters, {}, &Cluster::first);
    for (const Cluster& cluster : ntuple_.clusters) {
      if (cluster.first != ntuple_.events)
        throw data_error(where("the clusters") + " leave a gap; copy or write the file again");
      ntuple_.events += cluster.events;
    }
  }

  const File& file_;
  std::string name_;
  Ntuple ntuple_;
  uint64_t header_hash_ = 0;
  size_t pages_ = 0;
};

}  // namespace

Ntuple read_ntuple(const File& file, const Key& key) {
  return NtupleRecords(file, key).read(key);
}

}  // namespace linac::root
