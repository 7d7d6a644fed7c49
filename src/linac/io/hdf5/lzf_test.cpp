#include "linac/io/hdf5/lzf.h"

#include <gtest/gtest.h>

#include <string>

#include "linac/io/hdf5/handle.h"

namespace linac::hdf5 {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(Lzf, UnpacksWhatStandsThereAndWhatComesAgain) {
  EXPECT_EQ(unpack_lzf(bytes_of("\x02"
                                "abc")),
            bytes_of("abc"));
  // A byte and seven from one back, which overlap; two bytes and 9 + 1 from two back.
  EXPECT_EQ(unpack_lzf(bytes_of(std::string("\x00"
                                            "a\xa0\x00",
                                            4))),
            bytes_of("aaaaaaaa"));
  EXPECT_EQ(unpack_lzf(bytes_of(std::string("\x01"
                                            "ab\xe0\x01\x01",
                                            6))),
            bytes_of("abababababab"));
  EXPECT_EQ(unpack_lzf({}), bytes_of(""));
}

TEST(Lzf, RefusesWhatIsCutOrPointsBeforeTheBeginning) {
  for (const std::string& bad : {std::string("\x02"
                                             "ab"),
                                 std::string("\x00"
                                             "a\x20",
                                             3),
                                 std::string("\x00"
                                             "a\xe0\x01",
                                             4),
                                 std::string("\x00"
                                             "a\x20\x01",
                                             4),
                                 std::string("\x20\x00", 2), std::string("\xff", 1)})
    EXPECT_FALSE(unpack_lzf(bytes_of(bad)));
}

/// A file in memory with a data set of one chunk of eight bytes that is packed by a filter as these.
std::string read(H5Z_filter_t filter, const std::string& packed) {
  const Lock lock;
  const Handle access = memory_access();
  const Handle file(H5Fcreate(memory_file().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  const hsize_t eight = 8, none = 0;
  const Handle space(H5Screate_simple(1, &eight, nullptr), H5Sclose);
  const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(properties.get(), 1, &eight);
  EXPECT_GE(H5Pset_filter(properties.get(), filter, H5Z_FLAG_OPTIONAL, 0, nullptr), 0);
  const Handle set(
      H5Dcreate2(file.get(), "x", H5T_NATIVE_INT8, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Dclose);
  EXPECT_GE(H5Dwrite_chunk(set.get(), H5P_DEFAULT, 0, &none, packed.size(), packed.data()), 0);
  std::string text(8, '\0');
  if (H5Dread(set.get(), H5T_NATIVE_INT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) >= 0) return text;
  const std::string why = read_error(set.get());
  { const Handle other(H5Scopy(space.get()), H5Sclose); }
  restore_error(why);
  return last_error();
}

TEST(Lzf, Hdf5ReadsItAndNamesWhatItLacks) {
  EXPECT_EQ(read(32000, std::string("\x00"
                                    "a\xa0\x00",
                                    4)),
            "aaaaaaaa");
  EXPECT_NE(read(32000, std::string("\xff", 1)), std::string(8, '\0'));
  EXPECT_NE(read(32001, "x").find("packed by the filter 32001, which is not installed here: set HDF5_PLUGIN_PATH"),
            std::string::npos);
}

}  // namespace
}  // namespace linac::hdf5
