#include "linac/io/data/verify/verify.h"

#include <arrow/io/file.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>
#include <parquet/encryption/encryption.h>
#include <zlib.h>

#include <csignal>
#include <fstream>
#include <numeric>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/tfrecord_frame.h"
#include "linac/io/data/test_showers.h"
#include "linac/io/data/test_tables.h"
#include "linac/io/data/verify/child_check.h"
#include "linac/io/hdf5/handle.h"

namespace linac::data {
namespace {

using testing::contains;
using testing::DataTest;

std::string gzipped(const std::string& bytes) {
  z_stream zlib{};
  EXPECT_EQ(deflateInit2(&zlib, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(bytes.size() + 1000, '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  zlib.avail_in = static_cast<uInt>(bytes.size());
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&zlib, Z_FINISH), Z_STREAM_END);
  out.resize(zlib.total_out);
  deflateEnd(&zlib);
  return out;
}

/// Twenty records of 100 bytes.
std::string records() {
  std::string bytes;
  for (int i = 0; i < 20; ++i) bytes += tfrecord_frame(std::string(100, static_cast<char>('a' + i)));
  return bytes;
}
constexpr size_t kFramed = 100 + kTfrecordHeaderBytes + kTfrecordFooterBytes;

std::string altered(std::string bytes, size_t place) {
  bytes[place] = static_cast<char>(bytes[place] ^ 1);
  return bytes;
}

class Verify : public DataTest {
 protected:
  VerifiedFile of(const std::string& bytes) const {
    std::ofstream(path("file"), std::ios::binary) << bytes;  // not synced: thousands follow one another
    return verify_files({path("file")}, {}).front();
  }

  std::string parquet(bool checksums, bool y_is_encrypted = false) const {
    arrow::FloatBuilder x, y;
    for (int i = 0; i < 3000; ++i) EXPECT_TRUE(x.Append(static_cast<float>(i)).ok() && y.Append(1.5F * i).ok());
    const auto table =
        arrow::Table::Make(arrow::schema({arrow::field("x", arrow::float32()), arrow::field("y", arrow::float32())}),
                           {x.Finish().ValueOrDie(), y.Finish().ValueOrDie()});
    parquet::WriterProperties::Builder properties;
    properties.disable_dictionary()->compression(parquet::Compression::UNCOMPRESSED);
    if (checksums) properties.enable_page_checksum();
    if (y_is_encrypted) {
      const auto key = [] { return arrow::util::SecureString(std::string("0123456789abcdef")); };
      parquet::ColumnEncryptionProperties::Builder column;
      column.key(key());
      parquet::FileEncryptionProperties::Builder file(key());
      file.set_plaintext_footer()->encrypted_columns({{"y", column.build()}});
      properties.encryption(file.build());
    }
    const auto file = arrow::io::FileOutputStream::Open(path("made")).ValueOrDie();
    EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, 1000, properties.build()).ok());
    EXPECT_TRUE(file->Close().ok());
    return read_file(path("made"));
  }

  /// A chunked data set [100, 5] with Fletcher-32 in a group, one without a filter, and a list of texts.
  void write_hdf5() const {
    const hdf5::Lock lock;
    const hdf5::Handle file(H5Fcreate(path("made").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const hdf5::Handle group(H5Gcreate2(file.get(), "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    const hsize_t extent[] = {100, 5}, chunk[] = {10, 5};
    const hdf5::Handle space(H5Screate_simple(2, extent, nullptr), H5Sclose);
    const hdf5::Handle properties = hdf5::timeless_creation();
    H5Pset_chunk(properties.get(), 2, chunk);
    H5Pset_fletcher32(properties.get());
    std::vector<float> values(500);
    std::iota(values.begin(), values.end(), 1e6F);
    const hdf5::Handle x(
        H5Dcreate2(group.get(), "x", H5T_IEEE_F32LE, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
        H5Dclose);
    EXPECT_GE(H5Dwrite(x.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    std::iota(values.begin(), values.end(), 2e6F);
    const hdf5::Handle y(
        H5Dcreate2(file.get(), "y", H5T_IEEE_F32LE, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
    EXPECT_GE(H5Dwrite(y.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    const hdf5::Handle text(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(text.get(), H5T_VARIABLE);
    const hsize_t two = 2;
    const hdf5::Handle list(H5Screate_simple(1, &two, nullptr), H5Sclose);
    const hdf5::Handle z(H5Dcreate2(file.get(), "z", text.get(), list.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                         H5Dclose);
    const char* const words[] = {"one", "two"};
    EXPECT_GE(H5Dwrite(z.get(), text.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, words), 0);
  }
};

/// Where the bytes of a float lie.
size_t place_of(const std::string& bytes, float value) {
  const size_t place = bytes.find(std::string(reinterpret_cast<const char*>(&value), sizeof value));
  EXPECT_NE(place, std::string::npos);
  return place;
}

TEST_F(Verify, RecordsAreNamedAndTheRestIsReadAsFarAsItGoes) {
  const VerifiedFile sound = of(records());
  EXPECT_EQ(sound.result, VerifyResult::kSound);
  EXPECT_EQ(sound.checked, "CRC-32C of 20 records");
  EXPECT_EQ(sound.format, "tfrecord");

  std::string bytes = altered(records(), 5 * kFramed + 50);
  bytes = altered(bytes, 7 * kFramed - 1);  // a checksum
  const VerifiedFile two = of(bytes);
  ASSERT_EQ(two.damages_in_all, 2);
  EXPECT_EQ(two.result, VerifyResult::kDamaged);
  EXPECT_EQ(two.damages[0].where, "record 5");
  EXPECT_EQ(two.damages[1].where, "record 6");
  EXPECT_TRUE(contains(two.damages[0].what, "CRC-32C") && !contains(two.damages[0].what, "file: record"));
  EXPECT_EQ(two.checked, "CRC-32C of 20 records");

  const VerifiedFile length = of(altered(bytes, 9 * kFramed + 1));
  ASSERT_EQ(length.damages_in_all, 3);
  EXPECT_EQ(length.damages[2].where, "record 9");
  EXPECT_EQ(length.checked, "CRC-32C of 9 records") << "behind a wrong length nothing can be found";
  const VerifiedFile cut = of(records().substr(0, 10 * kFramed - 3));
  ASSERT_EQ(cut.damages_in_all, 1);
  EXPECT_EQ(cut.damages[0].where, "record 9");
  EXPECT_EQ(of("").result, VerifyResult::kDamaged);
  EXPECT_EQ(of("no file of events at all").result, VerifyResult::kDamaged);
}

TEST_F(Verify, PackedRecordsHaveTwoChecksums) {
  const std::string packed = gzipped(records());
  EXPECT_EQ(of(packed).result, VerifyResult::kSound);
  EXPECT_TRUE(contains(of(packed).checked, "GZIP"));
  EXPECT_EQ(of(packed.substr(0, packed.size() - 5)).result, VerifyResult::kDamaged);
  for (size_t place = 10; place < packed.size(); ++place)
    EXPECT_EQ(of(altered(packed, place)).result, VerifyResult::kDamaged) << place;
}

TEST_F(Verify, PagesOfParquetAreNamedByColumnAndRowGroup) {
  const std::string bytes = parquet(true);
  const VerifiedFile sound = of(bytes);
  EXPECT_EQ(sound.result, VerifyResult::kSound) << (sound.damages.empty() ? sound.error : sound.damages[0].what);
  EXPECT_TRUE(sound.has_checksums && contains(sound.checked, "CRC-32 of its pages"));
  std::string two = altered(bytes, place_of(bytes, 1234));
  two = altered(two, place_of(bytes, 1.5F * 2500));
  const VerifiedFile found = of(two);
  ASSERT_EQ(found.damages_in_all, 2);
  EXPECT_TRUE(contains(found.damages[0].where, "column 'x', row group 1, events 1000 to 1999"));
  EXPECT_TRUE(contains(found.damages[1].where, "column 'y', row group 2")) << found.damages[1].where;
  EXPECT_TRUE(contains(found.damages[0].what, "CRC")) << found.damages[0].what;
  EXPECT_EQ(of(bytes.substr(0, bytes.size() / 2)).result, VerifyResult::kDamaged);

  const VerifiedFile in_part = of(parquet(true, true));
  ASSERT_EQ(in_part.damages_in_all, 3);
  EXPECT_TRUE(contains(in_part.damages[0].where, "column 'y', row group 0, events 0 to 999"));
  EXPECT_TRUE(contains(in_part.damages[0].what, "is encrypted")) << in_part.damages[0].what;

  const VerifiedFile without = of(altered(parquet(false), 5000));
  EXPECT_EQ(without.result, VerifyResult::kSound) << "nothing tells a wrong number from another one";
  EXPECT_TRUE(!without.has_checksums && contains(without.checked, "no checksums"));
}

// It points to places in itself, which a flipped bit leads elsewhere.
TEST_F(Verify, AnArrowFileIsSoundOrDamagedWhateverIsAltered) {
  const auto events = testing::make_events(30);
  testing::write_parquet(path("made.arrow"), events, 10);
  const std::string bytes = read_file(path("made.arrow"));
  const VerifiedFile sound = of(bytes);
  EXPECT_EQ(sound.result, VerifyResult::kSound) << (sound.damages.empty() ? sound.error : sound.damages[0].what);
  EXPECT_TRUE(contains(sound.checked, "events 0 to 29")) << sound.checked;
  EXPECT_EQ(of(bytes.substr(0, bytes.size() / 2)).result, VerifyResult::kDamaged);
  int damaged = 0;
  for (size_t place = 8; place < bytes.size(); place += 11) {
    std::ofstream(path("file"), std::ios::binary) << altered(altered(bytes, place), bytes.size() - 1 - place % 64);
    const VerifiedFile found = verify_files({path("file")}, {}).front();
    damaged += found.result == VerifyResult::kDamaged ? 1 : 0;
    try {
      testing::read_all(*EventTable::open({path("file")}, testing::requests(6)));
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::kData || error.code() == ErrorCode::kUser) << error.what();
    }
  }
  EXPECT_GT(damaged, 0);
}

TEST_F(Verify, ChunksOfHdf5AreNamedByTheirEvents) {
  write_hdf5();
  const std::string bytes = read_file(path("made"));
  const VerifiedFile sound = of(bytes);
  EXPECT_EQ(sound.result, VerifyResult::kSound) << (sound.damages.empty() ? sound.error : sound.damages[0].what);
  EXPECT_EQ(sound.checked, "all values of 3 data sets, 1 of them with Fletcher-32");
  std::string two = altered(bytes, place_of(bytes, 1e6F + 5 * 37));
  two = altered(two, place_of(bytes, 1e6F + 5 * 92));
  const VerifiedFile found = of(two);
  ASSERT_EQ(found.damages_in_all, 2);
  EXPECT_EQ(found.damages[0].where, "data set 'g/x', events 30 to 39");
  EXPECT_EQ(found.damages[1].where, "data set 'g/x', events 90 to 99");
  EXPECT_EQ(of(bytes.substr(0, bytes.size() / 2)).result, VerifyResult::kDamaged);
  // HDF5 1.10 reads beyond its memory where sizes are altered: no byte may bring this process down.
  int64_t damaged = 0;
  for (size_t place = 0; place < bytes.size(); place += 61) {
    const VerifiedFile file = of(altered(bytes, place));
    EXPECT_NE(file.result, VerifyResult::kStopped);
    damaged += file.result == VerifyResult::kDamaged ? 1 : 0;
  }
  EXPECT_GT(damaged, 10);
}

TEST_F(Verify, ALibraryThatEndsBySignalIsDamage) {
  VerifiedFile file;
  file.bytes = 10;
  const auto run = [&](const std::function<void(Findings&)>& check) {
    Findings findings(
        file, [](int64_t) {}, [] { return false; });
    check_in_child(findings, check);
  };
  run([](Findings& told) {
    told.damaged("a", "found before");
    told.at("b");
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
  });
  ASSERT_EQ(file.damages.size(), 2U);
  EXPECT_EQ(file.damages[0].where, "a");
  EXPECT_EQ(file.damages[1].where, "b");
  EXPECT_TRUE(contains(file.damages[1].what, "signal 11"));
  EXPECT_THROW(run([](Findings&) { throw data_error("no file"); }), Error);
}

TEST_F(Verify, PagesOfAnNtupleAndBasketsOfATree) {
  for (const char* name : {"ntuple", "tree"}) {
    const std::string bytes = read_file(std::string("fuzz/corpus/root/") + name);
    const VerifiedFile sound = of(bytes);
    EXPECT_EQ(sound.result, VerifyResult::kSound) << (sound.damages.empty() ? sound.error : sound.damages[0].what);
    EXPECT_FALSE(sound.has_checksums) << "these were written without: " << sound.checked;
    EXPECT_EQ(of(bytes.substr(0, bytes.size() - 100)).result, VerifyResult::kDamaged);
    int64_t found = 0;
    for (size_t place = 0; place < bytes.size(); place += 5) {
      const VerifiedFile file = of(altered(bytes, place));
      EXPECT_NE(file.error_code, static_cast<int>(ErrorCode::kInternal)) << place << file.error;
      found += file.result == VerifyResult::kDamaged ? 1 : 0;
    }
    EXPECT_GT(found, 30) << name;
  }
}

TEST_F(Verify, OneFileDoesNotEndTheOthers) {
  write_file_atomically(path("a"), records());
  write_file_atomically(path("b"), altered(records(), 50));
  write_file_atomically(path("d"), records());
  int64_t last = 0, all = 0;
  VerifyOptions options;
  options.jobs = 1;
  options.progress = [&](int64_t done, int64_t of_all) {
    EXPECT_GE(done, last);
    last = done;
    all = of_all;
  };
  const auto files = verify_files({path("a"), path("b"), path("none"), path("d")}, options);
  ASSERT_EQ(files.size(), 4U);
  EXPECT_EQ(files[0].result, VerifyResult::kSound);
  EXPECT_EQ(files[1].result, VerifyResult::kDamaged);
  EXPECT_EQ(files[2].result, VerifyResult::kFailed);
  EXPECT_EQ(files[2].error_code, static_cast<int>(ErrorCode::kData));
  EXPECT_EQ(files[3].result, VerifyResult::kSound);
  EXPECT_EQ(all, static_cast<int64_t>(3 * 20 * kFramed));
  EXPECT_EQ(last, all);

  int asked = 0;
  last = 0;
  options.stop = [&] { return ++asked > 5; };
  const auto stopped = verify_files({path("a"), path("b"), path("d")}, options);
  EXPECT_EQ(stopped[2].result, VerifyResult::kStopped);
}

TEST_F(Verify, SaysHowManyPlacesThereAreBeyondThoseItNames) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += altered(tfrecord_frame("abcdefgh"), kTfrecordHeaderBytes);
  const VerifiedFile file = of(bytes);
  EXPECT_EQ(file.damages_in_all, 300);
  EXPECT_EQ(file.damages.size(), kDamagesShown);
}

}  // namespace
}  // namespace linac::data
