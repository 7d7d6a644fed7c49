// HDF5 as the field writes it: groups, records, pandas and PyTables.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/test_errors.h"
#include "linac/io/data/formats/batches/batch_reader.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/data/rewrite/rewrite.h"
#include "linac/io/data/test_showers.h"

namespace linac::data {
namespace {

using hdf5::Handle;
using testing::contains;

struct Jet {
  float pt;
  int32_t charge;
  int8_t is_b;  // h5py's boolean
  char flavour[4];
  double nested_x;
  float track[2];
};
constexpr hsize_t kJets = 5;

Handle text_of(size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), size);
  return type;
}

/// A record with a record in it, an array, a boolean and a text.
Handle jet_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Jet)), H5Tclose), nested(H5Tcreate(H5T_COMPOUND, 8), H5Tclose);
  H5Tinsert(nested.get(), "x", 0, H5T_NATIVE_DOUBLE);
  const hsize_t two = 2;
  const Handle track(H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &two), H5Tclose), text = text_of(4);
  H5Tinsert(type.get(), "pt", offsetof(Jet, pt), H5T_NATIVE_FLOAT);
  H5Tinsert(type.get(), "charge", offsetof(Jet, charge), H5T_NATIVE_INT32);
  H5Tinsert(type.get(), "is_b", offsetof(Jet, is_b), hdf5::boolean_type().get());
  H5Tinsert(type.get(), "flavour", offsetof(Jet, flavour), text.get());
  H5Tinsert(type.get(), "truth", offsetof(Jet, nested_x), nested.get());
  H5Tinsert(type.get(), "track", offsetof(Jet, track), track.get());
  return type;
}

class Hdf5Test : public testing::DataTest {
 protected:
  void SetUp() override {
    DataTest::SetUp();
    const hdf5::Lock lock;
    const Handle file(H5Fcreate(path("a.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    std::vector<Jet> jets;
    for (int i = 0; i < static_cast<int>(kJets); ++i)
      jets.push_back({10.5F + static_cast<float>(i),
                      i - 2,
                      static_cast<int8_t>(i % 2),
                      "ab",
                      0.25 * i,
                      {static_cast<float>(i), -static_cast<float>(i)}});
    write(file.get(), "jets", jet_type().get(), {kJets}, jets.data());
    std::vector<Jet> tracks;  // three a jet
    for (int i = 0; i < 15; ++i) tracks.push_back({static_cast<float>(i), i, 0, "", 0, {}});
    write(file.get(), "tracks", jet_type().get(), {kJets, 3}, tracks.data());
    const std::vector<double> values = {1, 2, 3, 4, 5};
    write(file.get(), "INPUTS/Source/pt", H5T_NATIVE_DOUBLE, {kJets}, values.data());
    const uint8_t bits[] = {0, 1, 1, 0, 1};
    write(file.get(), "INPUTS/Source/mask", H5T_STD_B8LE, {kJets}, bits);
    Handle colours(H5Tenum_create(H5T_STD_I16BE), H5Tclose);
    const uint16_t red = 0x0100, blue = 0xF9FF;  // 1 and -7, big-endian
    H5Tenum_insert(colours.get(), "red", &red);
    H5Tenum_insert(colours.get(), "blue", &blue);
    const uint16_t codes[] = {red, blue, red, blue, blue};
    write(file.get(), "INPUTS/colour", colours.get(), {kJets}, codes);
    write(file.get(), "other", H5T_NATIVE_DOUBLE, {2}, values.data());
    const Handle lists(H5Tvlen_create(H5T_NATIVE_FLOAT), H5Tclose);
    write(file.get(), "vlen", lists.get(), {kJets}, hits().data());
    const Handle packed(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const hsize_t two = 2;
    H5Pset_chunk(packed.get(), 1, &two);
    H5Pset_shuffle(packed.get());
    H5Pset_deflate(packed.get(), 4);
    const Handle wide(H5Tvlen_create(H5T_IEEE_F64BE), H5Tclose), nested(H5Tvlen_create(lists.get()), H5Tclose);
    write(file.get(), "packed", wide.get(), {kJets}, hits().data(), packed.get(), lists.get());
    const std::vector<hvl_t> none(kJets, hvl_t{0, nullptr});
    write(file.get(), "lists_of_lists", nested.get(), {kJets}, none.data());
    H5Lcreate_hard(file.get(), "/", file.get(), "INPUTS/loop", H5P_DEFAULT, H5P_DEFAULT);
  }

  /// Lists of 2, 0, 1, 0 and 3 numbers.
  static std::vector<hvl_t> hits() {
    static std::vector<float> numbers = {1.5F, 2, 3, 4, 5, 6};
    return {{2, numbers.data()}, {0, nullptr}, {1, numbers.data() + 2}, {0, nullptr}, {3, numbers.data() + 3}};
  }

  /// `creation`: properties; `memory`: the type of the values, where it is another than that in the file.
  static void write(hid_t file, const std::string& name, hid_t type, const std::vector<hsize_t>& shape,
                    const void* values, hid_t creation = H5P_DEFAULT, hid_t memory = -1) {
    const Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
    const Handle link(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(link.get(), 1);
    const Handle set(H5Dcreate2(file, name.c_str(), type, space.get(), link.get(), creation, H5P_DEFAULT), H5Dclose);
    ASSERT_TRUE(set);
    ASSERT_GE(H5Dwrite(set.get(), memory < 0 ? type : memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
  }

  RaggedColumn read(const WantedColumn& wanted) const {
    const auto reader = open_table_reader(storage::Source::open(path("a.h5")), {wanted});
    std::vector<RaggedColumn> block;
    reader->next(block);
    return block.at(0);
  }
};

TEST_F(Hdf5Test, NamesWhatGroupsAndRecordsHold) {
  const TableContents contents = contents_of_table(storage::Source::open(path("a.h5")));
  EXPECT_EQ(contents.events, 5);
  EXPECT_EQ(contents.of_texts, std::vector<std::string>{"jets.flavour"});
  for (const char* words : {"INPUTS/Source/pt [5]", "INPUTS/colour [5]", "jets.pt [5]", "jets.truth.x [5]",
                            "jets.track [5, 2]", "tracks.pt [5, 3]", "tracks.track [5, 3, 2]", "other [2]"})
    EXPECT_EQ(std::ranges::count(contents.columns, words), 1) << words;
  EXPECT_EQ(contents.names.size(), 19U) << "a group within itself is passed over";
  for (const char* words : {"vlen [5] of lists", "packed [5] of lists"})
    EXPECT_EQ(std::ranges::count(contents.columns, words), 1) << words;
}

TEST_F(Hdf5Test, ReadsThemAsNumbers) {
  EXPECT_EQ(read({.name = "jets.pt", .shape = {}}).values, (std::vector<float>{10.5, 11.5, 12.5, 13.5, 14.5}));
  EXPECT_EQ(read({.name = "jets.is_b", .shape = {}}).values, (std::vector<float>{0, 1, 0, 1, 0}));
  EXPECT_EQ(read({.name = "jets.truth.x", .shape = {}}).values, (std::vector<float>{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(read({.name = "jets.charge", .shape = {}, .exact = true}).exact, (std::vector<double>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(read({.name = "INPUTS/colour", .shape = {}}).values, (std::vector<float>{1, -7, 1, -7, -7}));
  EXPECT_EQ(read({.name = "INPUTS/Source/mask", .shape = {}}).values, (std::vector<float>{0, 1, 1, 0, 1}));
  const RaggedColumn track = read({.name = "jets.track", .shape = {2}});
  EXPECT_EQ(track.values, (std::vector<float>{0, 0, 1, -1, 2, -2, 3, -3, 4, -4}));
  EXPECT_EQ(track.rows, std::vector<uint32_t>(5, 2));
  EXPECT_EQ(read({.name = "tracks.track", .shape = {3, 2}}).rows, std::vector<uint32_t>(5, 3));
  EXPECT_EQ(read({.name = "tracks.charge", .shape = {3}}).values.back(), 14);
  const auto several =
      open_table_reader(storage::Source::open(path("a.h5")), {{.name = "jets.charge", .shape = {}},
                                                              {.name = "jets.flavour", .shape = {}, .texts = true},
                                                              {.name = "jets.pt", .shape = {}},
                                                              {.name = "jets.pt", .shape = {}}});
  std::vector<RaggedColumn> block;
  several->next(block);
  EXPECT_EQ(block[0].values, (std::vector<float>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(several->texts(1).at(0).text, "ab");
  EXPECT_EQ(block[2].values[4], 14.5F);
  EXPECT_EQ(block[3].values, block[2].values) << "the same once more";
}

TEST_F(Hdf5Test, ReadsListsOfVariableLength) {
  for (const char* name : {"vlen", "packed"}) {
    const RaggedColumn lists = read({.name = name, .shape = {7, 1}});
    EXPECT_EQ(lists.rows, (std::vector<uint32_t>{2, 0, 1, 0, 3})) << name;
    EXPECT_EQ(lists.values, (std::vector<float>{1.5F, 2, 3, 4, 5, 6})) << name;
  }
  const auto open = [&](int64_t first) {
    return open_hdf5_batches(storage::Source::open(path("a.h5")), {.names = {"packed"}}, {.first = first}, nullptr);
  };
  const auto from_two = open(2), beside = open(4);
  EXPECT_EQ(beside->next()->column(0)->ToString(), "[\n  [\n    4,\n    5,\n    6\n  ]\n]");
  EXPECT_EQ(from_two->next()->column(0)->ToString(), "[\n  [\n    3\n  ],\n  [],\n  [\n    4,\n    5,\n    6\n  ]\n]");
}

// Each length and each place of a list in turn is a wrong one: HDF5's library would write beyond its memory.
TEST_F(Hdf5Test, ListsOfWrongLengthsAreRefused) {
  std::string bytes = read_file(path("a.h5"));
  int64_t begin = 0;
  {
    const hdf5::Lock lock;
    const Handle file(H5Fopen(path("a.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    const Handle set(H5Dopen2(file.get(), "vlen", H5P_DEFAULT), H5Dclose);
    begin = static_cast<int64_t>(H5Dget_offset(set.get()));
  }
  ASSERT_GT(begin, 0);
  const auto refusal = [&](int64_t at, char byte) {
    std::string damaged = bytes;
    damaged[static_cast<size_t>(begin + at)] = byte;
    write_file_atomically(path("b.h5"), damaged);
    return message_of(ErrorCode::kData, [&] {
      const auto reader = open_table_reader(storage::Source::open(path("b.h5")), {{.name = "vlen", .shape = {7, 1}}});
      std::vector<RaggedColumn> block;
      reader->next(block);
    });
  };
  for (const char length : {'\1', '\3', '\x7F'}) {
    const std::string words = refusal(0, length);
    EXPECT_TRUE(contains(words, "'vlen': event 0 has a list of ")) << words;
    EXPECT_TRUE(contains(words, "and 8 bytes are stored for it")) << words;
  }
  EXPECT_TRUE(contains(refusal(3, '\x7F'), "event 0 has a list of 2130706434 values"));
  EXPECT_TRUE(contains(refusal(2 * 16 + 12, '\x55'), "event 2 has a list of 1 value, and 0 bytes")) << "no such object";
  EXPECT_TRUE(contains(refusal(4 * 16 + 9, '\x55'), "event 4 has a list of 3 values, and 0 bytes")) << "beyond the end";
}

TEST_F(Hdf5Test, SaysWhatIsNotRead) {
  const auto refusal = [&](const std::string& name) {
    return message_of(ErrorCode::kData, [&] { read({.name = name, .shape = {}}); });
  };
  EXPECT_TRUE(contains(refusal("lists_of_lists"), "of other than numbers")) << refusal("lists_of_lists");
  EXPECT_TRUE(contains(refusal("jets.p"), "no data set 'jets.p'")) << refusal("jets.p");
  EXPECT_TRUE(contains(refusal("tracks.flavour"), "lists of texts")) << refusal("tracks.flavour");
  for (const char* name : {"INPUTS", "/jets", "jets/", "", ".", "jets.", "INPUTS//colour"})
    EXPECT_TRUE(contains(refusal(name), "no data set")) << name;
}

// The name under which linac keeps the numbers of rows of lists (hdf5_lists.h) may be a column's of another program.
TEST_F(Hdf5Test, WhatCountsNoRowsIsAColumn) {
  const std::vector<double> values = {1, 2, 3, 4, 5};
  for (const std::string name : {"event_rows", "event_rows/alone"}) {
    {
      const Handle file(H5Fcreate(path("e.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
      write(file.get(), name, H5T_NATIVE_DOUBLE, {kJets}, values.data());
    }
    EXPECT_EQ(contents_of_table(storage::Source::open(path("e.h5"))).names, std::vector<std::string>{name});
  }
}

// HDF5 1.12 and later write some types in a version of their own, and links may lead nowhere.
TEST_F(Hdf5Test, NamesWhatCannotBeOpened) {
  {
    const hdf5::Lock lock;
    const Handle file(H5Fopen(path("a.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    H5Lcreate_soft("/nowhere", file.get(), "dangling", H5P_DEFAULT, H5P_DEFAULT);
  }
  std::string bytes = read_file(path("a.h5"));
  const std::string type("\x18\x02\0\0\x02\0\0\0", 8);  // version 1, an enumeration of two names, of two bytes
  const size_t at = bytes.find(type);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = '\x48';
  write_file_atomically(path("a.h5"), bytes);
  const auto refusal = [&](const std::string& name) {
    return message_of(ErrorCode::kData, [&] { read({.name = name, .shape = {}}); });
  };
  EXPECT_TRUE(contains(refusal("INPUTS/colour"), "'INPUTS/colour' is not read (cannot be opened: bad version number"));
  EXPECT_TRUE(contains(refusal("INPUTS/colour"), "libver")) << refusal("INPUTS/colour");
  EXPECT_TRUE(contains(refusal("dangling"), "'dangling' is not read (cannot be opened: ")) << refusal("dangling");
  RewriteOptions options;
  options.format = WrittenFormat::kParquet;
  std::string left_out;
  for (const auto& column : rewrite_tables({path("a.h5")}, path("b.parquet"), options).left_out)
    left_out += column.name + " ";
  EXPECT_EQ(left_out, "INPUTS/colour dangling lists_of_lists other tracks.flavour ");
}

// To Parquet and back, with all that can be read; what cannot is told.
TEST_F(Hdf5Test, IsConvertedWhole) {
  const auto convert = [&](const std::string& from, const std::string& to, WrittenFormat format) {
    RewriteOptions options;
    options.format = format;
    return rewrite_tables({path(from)}, path(to), options);
  };
  const RewriteReport report = convert("a.h5", "b.parquet", WrittenFormat::kParquet);
  ASSERT_EQ(report.left_out.size(), 3U);
  EXPECT_EQ(report.left_out[0].name, "lists_of_lists");
  EXPECT_EQ(report.left_out[1].name, "other");
  EXPECT_EQ(report.left_out[1].why, "2 events of its own");
  EXPECT_EQ(report.left_out[2].name, "tracks.flavour");
  convert("b.parquet", "c.h5", WrittenFormat::kHdf5);
  const TableContents back = contents_of_table(storage::Source::open(path("c.h5")));
  EXPECT_EQ(back.events, 5);
  EXPECT_EQ(back.names.size(), 16U);
  const auto reader = open_table_reader(storage::Source::open(path("c.h5")),
                                        {{.name = "INPUTS/Source/pt", .shape = {}}, {.name = "jets.pt", .shape = {}}});
  std::vector<RaggedColumn> block;
  reader->next(block);
  EXPECT_EQ(block[0].values, (std::vector<float>{1, 2, 3, 4, 5}));
  EXPECT_EQ(block[1].values[0], 10.5F);
  RewriteOptions without;
  without.without = {"tracks.pt", "tracks.flavour", "other", "lists_of_lists"};
  EXPECT_TRUE(rewrite_tables({path("a.h5")}, path("d.parquet"), without).left_out.empty());
  EXPECT_EQ(contents_of_table(storage::Source::open(path("d.parquet"))).names.size(), 15U);
  without.without = {"jets.p"};
  EXPECT_THROW(rewrite_tables({path("a.h5")}, path("e.parquet"), without), Error);
}

}  // namespace
}  // namespace linac::data
