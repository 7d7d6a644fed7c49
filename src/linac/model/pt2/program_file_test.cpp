#include "linac/model/pt2/program_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"

namespace linac::pt2 {
namespace {

constexpr const char* kDense = "tests/peers/pt2/dense.pt2";

using Members = std::vector<archive::ZipMember>;

class ProgramFiles : public testing::Test {
 protected:
  /// A copy of the program, changed.
  std::filesystem::path changed(const std::function<void(Members&)>& change) {
    archive::ZipReader reader(kDense);
    Members members;
    for (const std::string& name : reader.members()) members.push_back({name, *reader.read(name, 1 << 20)});
    change(members);
    return written(archive::write_zip(members));
  }
  std::filesystem::path written(const std::string& bytes) {
    write_file_atomically(folder_ / "net.pt2", bytes);
    return folder_ / "net.pt2";
  }
  std::string refused(const std::function<void(Members&)>& change) {
    const auto path = changed(change);
    return message_of([&] {
      const ProgramFile file(path);
      for (const ProgramInput& input : file.program().inputs)
        if (input.kind != ProgramInput::Kind::kUser) file.tensor(input);
    });
  }
  static std::string& content(Members& members, const std::string& ending) {
    return std::find_if(members.begin(), members.end(), [&](const auto& each) { return each.name.ends_with(ending); })
        ->content;
  }
  static void replace(std::string& text, const std::string& old, const std::string& wanted) {
    const size_t at = text.find(old);
    ASSERT_NE(at, std::string::npos) << old;
    text.replace(at, old.size(), wanted);
  }

  TemporaryFolder folder_;
};

TEST_F(ProgramFiles, AreReadAndWrittenWithOtherWeights) {
  const ProgramFile file(kDense);
  const auto input = std::find_if(file.program().inputs.begin(), file.program().inputs.end(),
                                  [](const ProgramInput& each) { return each.target == "layers.0.weight"; });
  ASSERT_NE(input, file.program().inputs.end());
  const auto tensor = file.tensor(*input);
  EXPECT_EQ(tensor.layout.sizes, (std::vector<int64_t>{8, 4}));
  EXPECT_TRUE(tensor.trainable);
  EXPECT_EQ(file.notes(), "");
  std::vector<float> values(32);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const ProgramFile again(written(file.with({{&*input, values}}, "notes")));
  EXPECT_EQ(again.notes(), "notes");
  EXPECT_EQ(again.tensor(*input).bytes, std::string_view(reinterpret_cast<const char*>(values.data()), 128));
  EXPECT_EQ(again.with({{&*input, values}}, "notes"), file.with({{&*input, values}}, "notes")) << "equal files";
}

TEST_F(ProgramFiles, AreRefusedWithTheirNameAndAWayOut) {
  const std::string whole = read_file(kDense);
  for (const std::string& bytes : {whole.substr(0, whole.size() / 2), std::string(), std::string("hello")})
    expect_in(message_of([&] { ProgramFile{written(bytes)}; }), {"net.pt2", "not a readable zip file"});
  expect_in(message_of([&] { ProgramFile{written(archive::write_zip({{"a.txt", ""}}))}; }), {"is no exported program"});
  expect_in(message_of([&] { ProgramFile{folder_ / "absent.pt2"}; }), {"absent.pt2", "cannot be read"});
  expect_in(message_of([&] {
              ProgramFile{written(archive::write_zip({{"serialized_exported_program.json", "{}"}}))};
            }),
            {"net.pt2", "PyTorch 2.7 or older", "torch.export.load"});
  const auto drop = [&](const std::string& ending) {
    return refused([&](Members& all) {
      std::erase_if(all, [&](const archive::ZipMember& member) { return member.name.ends_with(ending); });
    });
  };
  expect_in(drop("models/model.json"), {"net.pt2", "holds 0 programs"});
  expect_in(drop("weight_0"), {"net.pt2", "holds no data/weights/weight_0"});
  expect_in(drop("model_weights_config.json"), {"net.pt2", "keeps its weights as PyTorch 2.11"});
  expect_in(refused([](Members& all) { content(all, "model.json").pop_back(); }), {"net.pt2", "not JSON"});
  expect_in(refused([](Members& all) { content(all, "archive_version") = "7"; }), {"version '7'"});
  expect_in(refused([](Members& all) { content(all, "archive_format") = "x"; }), {"is no exported program"});
  expect_in(refused([](Members& all) { content(all, "weight_0").resize(8); }),
            {"'layers.0.weight' of shape (8, 4) has more values than the 8 bytes"});
  expect_in(refused([](Members& all) { all.push_back({"dense/models/other.json", "{}"}); }), {"holds 2 programs"});
  expect_in(refused([](Members& all) { replace(content(all, "weights_config.json"), "layers.2.bias", "other"); }),
            {"does not hold the values of 'layers.2.bias'"});
  expect_in(refused([](Members& all) {
              replace(content(all, "weights_config.json"), R"("sizes": [{"as_int": 8}, {"as_int": 4}])",
                      R"("sizes": [{"as_int": 9223372036854775807}, {"as_int": 9223372036854775807}])");
            }),
            {"has more values than"});
  expect_in(
      refused([](Members& all) { replace(content(all, "weights_config.json"), R"("dtype": 7)", R"("dtype": 99)"); }),
      {"PyTorch's type 99"});
}

}  // namespace
}  // namespace linac::pt2
