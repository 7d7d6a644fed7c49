#include <arrow/api.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <numeric>
#include <span>

#include "linac/base/base/tfrecord_frame.h"
#include "linac/io/data/event_table.h"
#include "linac/io/data/formats/example.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/data/formats/text_codes.h"
#include "linac/io/data/test_showers.h"
#include "linac/io/data/test_tables.h"

namespace linac::data::testing {
namespace {

const std::vector<std::string> kTexts{"ttbar", "QCD", "W+jets", "QCD", "ttbar", "QCD"};
const std::vector<float> kNumbers{2, 0, 1, 0, 2, 0};  // sorted: QCD, W+jets, ttbar

enum class Stored {
  kString,
  kLarge,
  kBinary,
  kDictionary,
  kList,
  kLargeList,
  kFixedList,
  kTfrecord,
  kHdf5Variable,
  kHdf5Fixed,
  kHdf5Spaces,
  kHdf5Column
};
constexpr Stored kAllStored[] = {Stored::kString,   Stored::kLarge,        Stored::kBinary,    Stored::kDictionary,
                                 Stored::kList,     Stored::kLargeList,    Stored::kFixedList, Stored::kHdf5Column,
                                 Stored::kTfrecord, Stored::kHdf5Variable, Stored::kHdf5Fixed, Stored::kHdf5Spaces};

template <class List, class Offset>
std::shared_ptr<arrow::Array> lists_of(const std::vector<Offset>& ends, const std::shared_ptr<arrow::Array>& texts) {
  typename arrow::CTypeTraits<Offset>::BuilderType offsets;
  EXPECT_TRUE(offsets.Append(0).ok() && offsets.AppendValues(ends).ok());
  return List::FromArrays(*offsets.Finish().ValueOrDie(), *texts).ValueOrDie();
}

// 1, 2, ...: lists of one.
template <class Offset>
std::vector<Offset> ends_of(const std::vector<std::string>& texts) {
  std::vector<Offset> ends(texts.size());
  std::iota(ends.begin(), ends.end(), Offset{1});
  return ends;
}

template <class Builder>
std::shared_ptr<arrow::Array> array_of(const std::vector<std::string>& texts) {
  Builder builder;
  for (const std::string& text : texts) EXPECT_TRUE(builder.Append(text).ok());
  return builder.Finish().ValueOrDie();
}

void write_texts(const std::string& path, const std::vector<std::string>& texts, size_t size, H5T_str_t padding,
                 std::vector<hsize_t> shape = {}) {
  const hdf5::Lock lock;
  const hdf5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  const hdf5::Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), size == 0 ? H5T_VARIABLE : size);
  H5Tset_strpad(type.get(), padding);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  if (shape.empty()) shape = {texts.size()};
  const hdf5::Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
  const hdf5::Handle set(H5Dcreate2(file.get(), "x", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                         H5Dclose);
  std::string fixed;
  std::vector<const char*> variable;
  for (const std::string& text : texts) {
    fixed += text + std::string(size > text.size() ? size - text.size() : 0, padding == H5T_STR_SPACEPAD ? ' ' : '\0');
    variable.push_back(text.c_str());
  }
  const void* const values = size == 0 ? static_cast<const void*>(variable.data()) : fixed.data();
  ASSERT_GE(H5Dwrite(set.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
}

void write_texts(const std::string& path, const std::vector<std::string>& texts, Stored stored) {
  switch (stored) {
    case Stored::kString:
      return write_parquet(path, "x", array_of<arrow::StringBuilder>(texts));
    case Stored::kLarge:
      return write_parquet(path, "x", array_of<arrow::LargeStringBuilder>(texts));
    case Stored::kBinary:
      return write_parquet(path, "x", array_of<arrow::BinaryBuilder>(texts));
    case Stored::kDictionary:
      return write_parquet(path, "x", array_of<arrow::StringDictionaryBuilder>(texts));
    case Stored::kList:
      return write_parquet(path, "x",
                           lists_of<arrow::ListArray>(ends_of<int32_t>(texts), array_of<arrow::StringBuilder>(texts)));
    case Stored::kLargeList:
      return write_parquet(
          path, "x", lists_of<arrow::LargeListArray>(ends_of<int64_t>(texts), array_of<arrow::StringBuilder>(texts)));
    case Stored::kFixedList:
      return write_parquet(
          path, "x", arrow::FixedSizeListArray::FromArrays(array_of<arrow::StringBuilder>(texts), 1).ValueOrDie());
    case Stored::kHdf5Column:
      return write_texts(path, texts, 12, H5T_STR_NULLPAD, {texts.size(), 1});
    case Stored::kTfrecord: {
      std::ofstream file(path, std::ios::binary);
      for (const std::string& text : texts) {
        Example example;
        example["x"].bytes = {text};
        file << tfrecord_frame(encode_example(example));
      }
      return;
    }
    case Stored::kHdf5Variable:
      return write_texts(path, texts, 0, H5T_STR_NULLTERM);
    case Stored::kHdf5Fixed:
      return write_texts(path, texts, 12, H5T_STR_NULLPAD);
    case Stored::kHdf5Spaces:
      return write_texts(path, texts, 12, H5T_STR_SPACEPAD);
  }
}

class TextClassesTest : public DataTest {
 protected:
  static ColumnRequest number(int64_t count, std::vector<std::string> names = {}) {
    return {"x", {}, {}, {}, {}, TextClasses{.count = count, .output = "kind", .names = std::move(names)}};
  }
  static ColumnRequest list(int64_t count) {
    return {"x", {count}, {}, {}, {}, TextClasses{.count = count, .output = "kind"}};
  }
  std::string refusal(const std::vector<std::string>& files, const ColumnRequest& request,
                      ErrorCode code = ErrorCode::kData) const {
    std::vector<std::string> paths;
    for (const std::string& file : files) paths.push_back(path(file));
    return message_of(code, [&] { EventTable::open(paths, {request}); });
  }
  std::string refusal(const std::vector<std::string>& texts, Stored stored) const {
    write_texts(path("refused"), texts, stored);
    return refusal({std::string("refused")}, number(3));
  }
};

TEST_F(TextClassesTest, EveryFormatSaysTheSame) {
  for (const Stored stored : kAllStored) {
    SCOPED_TRACE(static_cast<int>(stored));
    write_texts(path("a"), kTexts, stored);
    const auto table = EventTable::open({path("a")}, {number(3), list(3)});
    EXPECT_EQ(table->classes(0), (std::vector<std::string>{"QCD", "W+jets", "ttbar"}));
    EXPECT_EQ(table->columns()[1].texts->names, table->classes(0));
    EXPECT_EQ(table->events_of_classes(0), (std::vector<int64_t>{3, 1, 2}));
    const TableBatch batch = read_all(*table);
    EXPECT_EQ(batch.columns[0], kNumbers);
    for (size_t event = 0; event < kNumbers.size(); ++event)
      for (size_t place = 0; place < 3; ++place)
        EXPECT_EQ(batch.columns[1][3 * event + place], kNumbers[event] == static_cast<float>(place) ? 1 : 0);
    const std::vector<StoredText> counted = count_texts(storage::Source::open(path("a")), "x");
    ASSERT_EQ(counted.size(), 3U);
    EXPECT_EQ(counted[2].text, "ttbar");
    EXPECT_EQ(counted[2].events, 2);
    EXPECT_EQ(contents_of_table(storage::Source::open(path("a"))).of_texts, (std::vector<std::string>{"x"}));
  }
}

TEST_F(TextClassesTest, ClassesAreThoseOfAllFilesOrThoseThatAreNamed) {
  write_texts(path("a.parquet"), {"ttbar", "QCD"}, Stored::kDictionary);
  write_texts(path("b.h5"), {"W+jets", "QCD", "W+jets"}, Stored::kHdf5Fixed);
  const auto open = [&](const ColumnRequest& request) {
    return EventTable::open({path("a.parquet"), path("b.h5")}, {request});
  };
  EXPECT_EQ(read_all(*open(number(3))).columns[0], (std::vector<float>{2, 0, 1, 0, 1}));
  const auto named = open(number(4, {"ttbar", "Z", "W+jets", "QCD"}));
  EXPECT_EQ(read_all(*named).columns[0], (std::vector<float>{0, 3, 2, 3, 2}));
  EXPECT_EQ(named->events_of_classes(0), (std::vector<int64_t>{1, 0, 2, 2}));
}

TEST_F(TextClassesTest, TwoClassesAreOneNumber) {
  write_texts(path("a"), {"signal", "background", "signal"}, Stored::kString);
  const ColumnRequest request{"x", {1}, {}, {}, {}, TextClasses{.count = 2, .output = "kind"}};
  EXPECT_EQ(read_all(*EventTable::open({path("a")}, {request})).columns[0], (std::vector<float>{1, 0, 1}));
}

TEST_F(TextClassesTest, OtherNumbersOfClassesAreRefused) {
  write_texts(path("a"), kTexts, Stored::kString);
  const std::string many = refusal({"a"}, number(2)), few = refusal({"a"}, list(4));
  EXPECT_TRUE(contains(many,
                       "column 'x' has 3 different texts ('QCD', 'W+jets', 'ttbar'), and the output 'kind' tells "
                       "2 apart; give the model 3 outputs there"))
      << many;
  EXPECT_TRUE(contains(few, "tells 4 apart; name all classes in data.classes")) << few;
  EXPECT_TRUE(contains(refusal({"a"}, number(3, {"QCD", "ttbar"}), ErrorCode::kUser),
                       "2 classes are named for column 'x' ('QCD', 'ttbar'), and the output 'kind' tells 3 apart"));
  EXPECT_TRUE(contains(refusal({"a"}, number(3, {"QCD", "ttbar", "QCD"}), ErrorCode::kUser), "'QCD' twice"));
  EXPECT_TRUE(contains(refusal({"a"}, number(3, {"QCD", "", "ttbar"}), ErrorCode::kUser), "an empty text"));
}

TEST_F(TextClassesTest, TextsThatAreNoneOfTheClassesAreNamed) {
  for (const Stored stored : kAllStored) {
    write_texts(path("a"), kTexts, stored);
    const std::string message = refusal({"a"}, number(3, {"QCD", "W+jet", "ttbar"}));
    EXPECT_TRUE(contains(message,
                         "a: event 2: column 'x' holds 'W+jets', and the classes are 'QCD', 'W+jet', 'ttbar' "
                         "(is 'W+jet' meant?); mend the file, leave such events out, or take a model"))
        << message;
  }
}

TEST_F(TextClassesTest, WhatNamesNoClassIsRefused) {
  for (const Stored stored : {Stored::kString, Stored::kDictionary, Stored::kTfrecord, Stored::kHdf5Variable,
                              Stored::kHdf5Fixed, Stored::kHdf5Spaces}) {
    SCOPED_TRACE(static_cast<int>(stored));
    EXPECT_TRUE(contains(refusal({"a", "b", "", "c"}, stored), "refused: event 2: column 'x' holds an empty text"));
    EXPECT_TRUE(
        contains(refusal({"a", "\xFF\xFE", "c"}, stored), "event 1: column 'x' holds bytes that are not UTF-8"));
  }
  EXPECT_TRUE(contains(refusal({"a", std::string(kTextBytesMax + 1, 'x')}, Stored::kString), "a text of 1025 bytes"));
  std::vector<std::string> many;
  for (size_t i = 0; i <= kDifferentTextsMax; ++i) many.push_back("run " + std::to_string(i));
  EXPECT_TRUE(contains(refusal(many, Stored::kString), "event 10000: column 'x' holds 'run 10000', after 10000 other"));

  arrow::StringBuilder with_null;
  ASSERT_TRUE(with_null.Append("a").ok() && with_null.AppendNull().ok());
  write_parquet(path("null"), "x", with_null.Finish().ValueOrDie());
  EXPECT_TRUE(contains(refusal({"null"}, number(2)), "event 1: column 'x' holds a null"));
  arrow::StringDictionaryBuilder coded;
  ASSERT_TRUE(coded.Append("a").ok() && coded.AppendNull().ok());
  write_parquet(path("coded"), "x", coded.Finish().ValueOrDie());
  EXPECT_TRUE(contains(refusal({"coded"}, number(2)), "event 1: column 'x' holds a null"));

  // Lists hold one text an event.
  const auto texts = array_of<arrow::StringBuilder>({"a", "b", "c"});
  write_parquet(path("two"), "x", lists_of<arrow::ListArray>(std::vector<int32_t>{1, 3}, texts));
  EXPECT_TRUE(contains(refusal({"two"}, number(3)), "event 1: column 'x' holds a list of 2 texts; a target is"));
  write_parquet(path("none"), "x", lists_of<arrow::ListArray>(std::vector<int32_t>{1, 1, 3}, texts));
  EXPECT_TRUE(contains(refusal({"none"}, number(3)), "event 1: column 'x' holds a list of 0 texts"));
  arrow::ListBuilder gap(arrow::default_memory_pool(), std::make_shared<arrow::StringBuilder>());
  ASSERT_TRUE(gap.AppendNull().ok());
  write_parquet(path("gap"), "x", gap.Finish().ValueOrDie());
  EXPECT_TRUE(contains(refusal({"gap"}, number(2)), "event 0: column 'x' holds a null"));
  write_texts(path("wide"), {"a", "b", "a", "b"}, 4, H5T_STR_NULLPAD, {2, 2});
  EXPECT_FALSE(refusal({"wide"}, number(2)).empty());

  Example one, two;
  one["x"].bytes = {"a"}, two["x"].bytes = {"a", "b"};
  std::ofstream(path("lists"), std::ios::binary)
      << tfrecord_frame(encode_example(one)) << tfrecord_frame(encode_example(two));
  EXPECT_TRUE(contains(refusal({"lists"}, number(2)), "event 1: column 'x' is stored as a list of 2 byte strings"));
  two["x"].bytes.clear(), two["x"].floats = {1};
  std::ofstream(path("mixed"), std::ios::binary)
      << tfrecord_frame(encode_example(one)) << tfrecord_frame(encode_example(two));
  EXPECT_TRUE(contains(refusal({"mixed"}, number(2)), "event 1: column 'x' is stored as a list of 1 float"));
  std::ofstream(path("turned"), std::ios::binary)
      << tfrecord_frame(encode_example(two)) << tfrecord_frame(encode_example(one));
  EXPECT_TRUE(contains(refusal({"turned"}, number(2)), "every one needs one number"));
}

TEST_F(TextClassesTest, TextsAndNumbersDoNotMix) {
  write_texts(path("a.h5"), {"a", "b"}, Stored::kHdf5Fixed);
  write_hdf5(path("b.h5"), {{"x", {2}, {0, 1}}});
  EXPECT_TRUE(contains(refusal({"a.h5", "b.h5"}, number(2)), "b.h5: column 'x' holds numbers, and texts in "));
  ColumnRequest always = number(2, {"a", "b"});
  always.texts->always = true;
  EXPECT_TRUE(contains(refusal({"b.h5"}, always), "holds numbers, and in the training files texts"));
  // Numbers stay numbers, and their request says so.
  const auto numbers = EventTable::open({path("b.h5")}, {number(2, {"a", "b"})});
  EXPECT_TRUE(numbers->classes(0).empty() && !numbers->columns()[0].texts);
  EXPECT_EQ(read_all(*numbers).columns[0], (std::vector<float>{0, 1}));
}

TEST_F(TextClassesTest, WhereNumbersAreWantedTextsAreRefusedPackedOrNot) {
  for (const Stored stored : kAllStored) {
    const ColumnRequest plain{"x", {}, {}, {}};
    write_texts(path("a"), kTexts, stored);
    EXPECT_TRUE(contains(refusal({"a"}, plain), "not numbers; texts are read where they name the classes"));
    EventTable::open({path("a")}, {number(3)});
    EXPECT_TRUE(contains(refusal({"a"}, plain), "not numbers; texts are read where they name the classes"));
    EXPECT_TRUE(contains(refusal({"a"}, {"", {2}, {}, {}, {{"x"}, {"x"}}}), "not numbers"));
    std::filesystem::remove(path("a"));
  }
}

TEST_F(TextClassesTest, DamagedParquetIsRefusedOrReadWithoutACrash) {
  for (const Stored stored : {Stored::kDictionary, Stored::kList}) {
    write_texts(path("whole"), kTexts, stored);
    std::ifstream stream(path("whole"), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    for (size_t place = 4; place < bytes.size(); place += 7) {
      std::string damaged = bytes;
      damaged[place] = static_cast<char>(damaged[place] ^ 0x41);
      std::ofstream(path("a" + std::to_string(place)), std::ios::binary) << damaged;
      try {
        read_all(*EventTable::open({path("a" + std::to_string(place))}, {number(3)}));
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      }
    }
  }
}

TEST_F(TextClassesTest, PartsCountTheirOwn) {
  write_texts(path("a.parquet"), {"a", "b", "a"}, Stored::kString);
  write_texts(path("b.parquet"), {"b", "a", "c"}, Stored::kString);
  const auto whole = EventTable::open({path("a.parquet"), path("b.parquet")}, {number(3)});
  const auto train = whole->part(0, 4), test = whole->part(4, 2);
  EXPECT_EQ(train->events_of_classes(0), (std::vector<int64_t>{2, 2, 0}));
  EXPECT_EQ(test->events_of_classes(0), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(read_all(*test).columns[0], (std::vector<float>{0, 2}));
  whole->part(4, 1)->need_known_classes(0);
  for (const auto& part : {test, whole->part(1, 5)->part(3, 2), whole->part(5, 1)}) {
    const std::string message = message_of(ErrorCode::kData, [&] { part->need_known_classes(0); });
    EXPECT_TRUE(contains(message, "b.parquet: event 2: column 'x' holds 'c', of which the training events")) << message;
  }
  EXPECT_TRUE(contains(message_of(ErrorCode::kData, [&] { whole->part(1, 2)->need_known_classes(0); }),
                       "a.parquet: event 1: column 'x' holds 'b'"));
}

}  // namespace
}  // namespace linac::data::testing
