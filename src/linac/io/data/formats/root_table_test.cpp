#include <gtest/gtest.h>

#include <fstream>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/io/data/formats/batches/batch_reader.h"
#include "linac/io/data/formats/event_arrays.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/data/verify/verify.h"
#include "linac/io/storage/source.h"

namespace linac::data {
namespace {

// Written by uproot: a tree of two baskets with x int16, m double[2] and l list<float>, each event 0 to 3 twice; an
// RNTuple of one cluster with x, l, the texts s and the lists of lists v.
std::string kept(const std::string& name) {
  std::ifstream file("fuzz/corpus/root/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<const storage::Source> source(const std::string& bytes) {
  static const TemporaryFolder folder;
  const auto path = folder.path() / "a.root";
  std::ofstream(path, std::ios::binary) << bytes;
  return storage::Source::of_file(path, "a.root");
}

std::vector<RaggedColumn> read(const std::string& bytes, const std::vector<WantedColumn>& columns) {
  std::vector<RaggedColumn> all;
  open_root_table(source(bytes), columns)->next(all);
  return all;
}

std::string error_of(const std::string& bytes, const std::vector<WantedColumn>& columns) {
  try {
    read(bytes, columns);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kData);
    return error.what();
  }
  return "none";
}

TEST(RootTable, TreeColumns) {
  const auto columns =
      read(kept("tree"), {{.name = "x", .shape = {}}, {.name = "t/m", .shape = {2}}, {.name = "l", .shape = {3, 1}}});
  EXPECT_EQ(columns[0].values, (std::vector<float>{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(columns[1].values, std::vector<float>(16, 1));
  EXPECT_EQ(columns[1].rows, std::vector<uint32_t>(8, 2));
  EXPECT_EQ(columns[2].rows, (std::vector<uint32_t>{1, 0, 3, 2, 1, 0, 3, 2}));
  EXPECT_EQ(columns[2].values, (std::vector<float>{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
}

TEST(RootTable, ForFormulasInFull) {
  EXPECT_EQ(read(kept("tree"), {{.name = "x", .shape = {}, .exact = true, .as_stored = true}})[0].exact,
            (std::vector<double>{0, 1, 2, 3, 0, 1, 2, 3}));
  const auto lists = read(kept("ntuple"), {{.name = "l", .shape = {}, .exact = true, .as_stored = true}});
  EXPECT_EQ(lists[0].exact, (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(lists[0].rows, (std::vector<uint32_t>{1, 0, 3, 2}));
}

// An ntuple of Geant4's example B4, by its own analysis manager (scikit-hep-testdata); the values are uproot's.
TEST(RootTable, Geant4Ntuple) {
  const auto reader =
      open_root_table(source(kept("geant4")), {{.name = "Eabs", .shape = {}}, {.name = "Lgap", .shape = {}}});
  EXPECT_EQ(reader->events(), 1000);
  double eabs = 0, lgap = 0;
  std::vector<float> first;
  std::vector<RaggedColumn> block;
  for (reader->next(block); !block[0].rows.empty(); reader->next(block)) {
    for (const float value : block[0].values) eabs += value;
    for (const float value : block[1].values) lgap += value;
    if (first.empty()) first = {block[0].values[0], block[0].values[1], block[1].values[0]};
  }
  EXPECT_EQ(first, (std::vector<float>{42.15037355F, 48.71750696F, 0.1262739F}));
  EXPECT_NEAR(eabs, 45619.54912376404, 1e-6);
  EXPECT_NEAR(lgap, 8037.968439934426, 1e-6);
  EXPECT_EQ(root_contents(source(kept("geant4"))).columns[0], "Eabs double");
}

// Of RDataFrame (scikit-hep-testdata); the values are uproot's.
TEST(RootTable, ListsOfRDataFrame) {
  const auto columns =
      read(kept("rvec"), {{.name = "rec_part_px_VecOps", .shape = {50, 1}}, {.name = "rec_part_px", .shape = {50, 1}}});
  EXPECT_EQ(columns[0].rows, (std::vector<uint32_t>{24, 44, 49, 39, 36, 32, 43, 29, 29, 30}));
  EXPECT_EQ(columns[0].values[2], -7.502293109893799F);
  EXPECT_EQ(columns[0].values, columns[1].values);
  for (const std::string& words : root_contents(source(kept("rvec"))).columns)
    EXPECT_EQ(words.find("not read"), std::string::npos) << words;
}

// Of ROOT 6.40 (tests/peers/make_friends.py).
TEST(RootTable, FriendsByTheirNames) {
  const std::string bytes = kept("friends");
  const auto columns = read(bytes, {{.name = "x", .shape = {}},
                                    {.name = "scores.s", .shape = {}},
                                    {.name = "again.x", .shape = {}},
                                    {.name = "events/event", .shape = {}}});
  EXPECT_EQ(columns[0].values, (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(columns[1].values, (std::vector<float>{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5}));
  EXPECT_EQ(columns[2].values, (std::vector<float>{0, -1, -2, -3, -4, -5, -6, -7}));
  EXPECT_EQ(columns[3].values, (std::vector<float>{0, 3, 6, 9, 1, 4, 7, 10}));
  const auto batch = open_root_batches(source(bytes), {.names = {"x", "scores.s"}}, {}, nullptr)->next();
  EXPECT_EQ(batch->schema()->field(1)->name(), "scores.s");

  const auto says = [&](const std::string& name, const std::string& why) {
    const std::string said = error_of(bytes, {{.name = "x", .shape = {}}, {.name = name, .shape = {}}});
    EXPECT_NE(said.find(why), std::string::npos) << said;
  };
  says("lost.s", "whose events are found by an index (run, event) and not by their place; write both into one tree");
  says("short.s", "which holds 5 events where the tree holds 8 events");
  says("away.s", "which lies in another file, elsewhere.root");
  says("scores.y", "scores.s");
  says("nobody.s", "events/x");
  EXPECT_EQ(read(bytes, {{.name = "lost/s", .shape = {}}})[0].values, (std::vector<float>{7, 6, 5, 4, 3, 2, 1, 0}))
      << "by its own tree's name it is a column like any other";
}

// `from` once in `bytes`, as `to`, which is as long.
std::string altered(std::string bytes, const std::string& from, const std::string& to) {
  const size_t at = bytes.find(from);
  EXPECT_TRUE(at != std::string::npos && from.size() == to.size()) << from;
  return bytes.replace(at, to.size(), to);
}

TEST(RootTable, FriendsAreListedAsAJobNamesThem) {
  const std::string bytes = kept("friends");
  const std::vector<std::string> names = root_contents(source(bytes)).names;
  for (const char* const name : {"x", "run", "scores.x", "scores.s", "lost/s", "short/s"})
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
  for (const std::string& name : names) EXPECT_EQ(error_of(bytes, {{.name = name, .shape = {}}}), "none") << name;
  EXPECT_EQ(read(bytes, {{.name = "scores/s", .shape = {}}})[0].values[1], 0.5F) << "and as before";
}

// Of friends and columns whose names begin alike.
TEST(RootTable, FriendsWithPointsInTheirNames) {
  const std::string bytes = kept("friends");
  using namespace std::string_literals;
  const auto friend_name = [](const std::string& name) {
    return std::string(1, static_cast<char>(name.size())) + name + "\x00\x06scores"s;  // without a file
  };
  for (const std::string name : {"event", "x.abc"}) {
    const std::string other = altered(bytes, friend_name("again"), friend_name(name));
    EXPECT_EQ(read(other, {{.name = name + ".s", .shape = {}}})[0].values[1], 0.5F) << name;
    EXPECT_EQ(read(other, {{.name = "event", .shape = {}}})[0].values[1], 3) << name;
  }
  // The last friend as `lost.abcdefghijk`, behind `lost`, which has an index.
  const std::string object = "\x00\x01\x00\x01"s + std::string(8, '\0'),
                    away = "\x20"s + object + "\x04" + "away" + "\x0e" + "elsewhere.root" + "\x04" + "away",
                    lost = "\x1e"s + object + "\x10" + "lost.abcdefghijk" + "\x00\x06"s + "scores";
  const std::string other = altered(bytes, away, lost);
  EXPECT_EQ(read(other, {{.name = "lost.abcdefghijk.s", .shape = {}}})[0].values[1], 0.5F);
  EXPECT_NE(error_of(other, {{.name = "lost.s", .shape = {}}}).find("friend 'lost' of the tree 'events'"),
            std::string::npos);
}

TEST(RootTable, AlteredBytesOfFriendsAreReadOrRefused) {
  const std::string bytes = kept("friends");
  const size_t begin = bytes.find("TFriendElement");  // the first of five, and behind them the end of the record
  ASSERT_NE(begin, std::string::npos);
  size_t refused = 0;
  for (size_t i = begin - 8; i < begin + 300; ++i) {
    std::string altered = bytes;
    altered[i] = static_cast<char>(altered[i] ^ 0xFF);
    refused += error_of(altered, {{.name = "scores.s", .shape = {}}}) != "none" ? 1 : 0;
    EXPECT_EQ(error_of(altered, {{.name = "events/x", .shape = {}}}), "none") << "who asks for no friend";
  }
  EXPECT_GT(refused, 40U);  // lengths, and the names of the first
}

// As groot writes texts: an event tells its length, and no offsets are stored.
TEST(RootTable, TextsWithoutOffsets) {
  const auto batch = open_root_batches(source(kept("texts")), {}, {}, nullptr)->next();
  ASSERT_TRUE(batch && batch->num_rows() == 5);
  const auto& texts = static_cast<const arrow::StringArray&>(*batch->column(0));
  const std::string long_one(300, 'x');
  const char* const wanted[] = {"one", "", "three", long_one.c_str(), "five"};
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(texts.GetString(i), wanted[i]);
}

TEST(RootTable, NtupleColumns) {
  const std::string bytes = kept("ntuple");
  const auto reader = open_root_table(
      source(bytes),
      {{.name = "x", .shape = {}}, {.name = "l", .shape = {3}}, {.name = "s", .shape = {}, .texts = true}});
  EXPECT_EQ(reader->events(), 4);
  EXPECT_EQ(reader->columns()[1].words, "list<float>");
  EXPECT_TRUE(reader->columns()[2].is_text);
  const auto columns = read(bytes, {{.name = "x", .shape = {}}, {.name = "l", .shape = {3}}});
  EXPECT_EQ(columns[0].values, (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(columns[1].rows, (std::vector<uint32_t>{1, 0, 3, 2}));
}

TEST(RootTable, SaysWhatIsWrong) {
  const std::string tree = kept("tree"), ntuple = kept("ntuple");
  EXPECT_NE(error_of(tree, {{.name = "y", .shape = {}}}).find("(found: x, m, nl, l)"), std::string::npos);
  EXPECT_NE(error_of(ntuple, {{.name = "s", .shape = {}}}).find("text"), std::string::npos);
  EXPECT_NE(error_of(ntuple, {{.name = "v", .shape = {2, 3}}}).find("lists with a row of"), std::string::npos);
  EXPECT_NE(error_of(tree.substr(0, tree.size() / 2), {{.name = "x", .shape = {}}}).find("copy it again"),
            std::string::npos);
}

TEST(RootTable, AlteredBytesOfAnNtupleAreReadOrRefused) {
  const std::string bytes = kept("ntuple");
  ASSERT_GT(bytes.size(), 1000U);
  size_t refused = 0;
  for (size_t i = 0; i < bytes.size(); i += 11) {
    std::string altered = bytes;
    altered[i] = static_cast<char>(altered[i] ^ 0xFF);
    refused += error_of(altered, {{.name = "x", .shape = {}}, {.name = "l", .shape = {3}}}) != "none" ? 1 : 0;
  }
  EXPECT_GT(refused, 45U);  // headers, lists of pages, pages: all with checksums
}

TEST(RootTable, AlteredBytesOfATreeAreReadOrRefused) {
  const TemporaryFolder folder;
  const auto path = folder / "written.root";
  EventArraysWriter writer(path, {{"x", {}}, {"y", {2}}}, 300);
  writer.set_attribute("source", "a test");
  writer.number_events(std::vector<int64_t>{300});
  std::vector<float> values(600);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.37F;
  writer.write(0, 0, std::span(values).first(300));
  writer.write(1, 0, values);
  writer.close();
  EXPECT_EQ(verify_files({path.string()}, {}).at(0).result, VerifyResult::kSound);
  const std::string bytes = read_file(path);
  ASSERT_GT(bytes.size(), 5000U);
  size_t refused = 0;
  for (size_t i = 0; i < bytes.size(); i += 7) {
    std::string altered = bytes;
    altered[i] = static_cast<char>(altered[i] ^ 0xFF);
    refused += error_of(altered, {{.name = "x", .shape = {}}, {.name = "y", .shape = {2}}}) != "none" ? 1 : 0;
  }
  EXPECT_GT(refused, bytes.size() / 7 / 4);  // the baskets and the tree's record, which are compressed
}

TEST(RootTable, Contents) {
  const TableContents contents = root_contents(source(kept("tree")));
  EXPECT_EQ(contents.events, 8);
  EXPECT_EQ(contents.columns[1], "m double[2]");
}

}  // namespace
}  // namespace linac::data
