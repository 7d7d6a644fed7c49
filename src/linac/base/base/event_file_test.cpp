#include "linac/base/base/event_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/protowire.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/tfrecord_frame.h"

namespace linac {
namespace {

class EventFileTest : public testing::Test {
 protected:
  EventFileWriter::WallTime clock() {
    return [this] { return now_ += 0.25; };
  }

  const TemporaryFolder test_folder_;
  const std::filesystem::path folder_ = test_folder_ / "tensorboard";
  double now_ = 1.7e9;
};

// A message as number -> last field; enough for messages without repeated fields.
using Message = std::map<uint32_t, proto::Field>;

Message decode(std::span<const uint8_t> bytes) {
  Message fields;
  proto::Reader reader(bytes);
  while (const auto field = reader.next()) fields[field->number] = *field;
  return fields;
}

struct Records {
  std::string bytes;
  std::vector<Message> events;
};

Records read_records(const std::filesystem::path& path) {
  Records file{read_file(path), {}};
  const auto all = std::as_bytes(std::span(file.bytes));
  for (size_t at = 0; at < all.size();) {
    const size_t length = tfrecord_length(all.subspan(at, kTfrecordHeaderBytes));
    const auto data = all.subspan(at + kTfrecordHeaderBytes, length);
    EXPECT_TRUE(tfrecord_data_intact(data, all.subspan(at + kTfrecordHeaderBytes + length, kTfrecordFooterBytes)));
    file.events.push_back(decode({reinterpret_cast<const uint8_t*>(data.data()), data.size()}));
    at += kTfrecordHeaderBytes + length + kTfrecordFooterBytes;
  }
  return file;
}

Message summary_value(const Message& event) {
  return decode(decode(event.at(5).bytes).at(1).bytes);
}

TEST_F(EventFileTest, StartsWithTheVersion) {
  const EventFileWriter writer(folder_, clock());
  const auto file = read_records(writer.path());
  ASSERT_EQ(file.events.size(), 1U);
  EXPECT_EQ(file.events[0].at(3).text(), "brain.Event:2");
  EXPECT_DOUBLE_EQ(file.events[0].at(1).as_double(), 1.7e9 + 0.5);
  EXPECT_TRUE(writer.path().filename().string().starts_with("events.out.tfevents.1700000000."));
}

TEST_F(EventFileTest, ScalarImageTextAndSessionStart) {
  EventFileWriter writer(folder_, clock());
  writer.session_start(7);
  writer.scalar("loss/g", 8, 12.25);
  writer.image_png("projections", 9, "PNG", 640, 480);
  writer.text("job", 0, "# job");
  writer.flush();
  const auto file = read_records(writer.path());
  ASSERT_EQ(file.events.size(), 5U);

  EXPECT_EQ(file.events[1].at(2).bits, 7U);
  EXPECT_EQ(decode(file.events[1].at(7).bytes).at(1).bits, 1U);

  EXPECT_EQ(file.events[2].at(2).bits, 8U);
  const Message scalar = summary_value(file.events[2]);
  EXPECT_EQ(scalar.at(1).text(), "loss/g");
  EXPECT_EQ(scalar.at(2).as_float(), 12.25F);

  const Message image = decode(summary_value(file.events[3]).at(4).bytes);
  EXPECT_EQ(image.at(1).bits, 480U);
  EXPECT_EQ(image.at(2).bits, 640U);
  EXPECT_EQ(image.at(4).text(), "PNG");

  const Message text = summary_value(file.events[4]);
  EXPECT_EQ(decode(text.at(8).bytes).at(8).text(), "# job");
  EXPECT_EQ(decode(decode(text.at(9).bytes).at(1).bytes).at(1).text(), "text");
}

TEST_F(EventFileTest, HyperParametersAndOutcome) {
  EventFileWriter writer(folder_, clock());
  const std::map<std::string, HyperParameter> settings{
      {"lr", 1e-3}, {"model", std::string("3dgan")}, {"shuffle", true}};
  writer.hparams_columns(settings, {"loss/g"});
  writer.hparams(settings);
  writer.session_end(EventFileWriter::Outcome::kSuccess);
  writer.flush();
  const auto file = read_records(writer.path());
  ASSERT_EQ(file.events.size(), 4U);
  const auto content = [&](size_t event) {
    const Message plugin = decode(decode(summary_value(file.events[event]).at(9).bytes).at(1).bytes);
    EXPECT_EQ(plugin.at(1).text(), "hparams");
    return decode(plugin.at(2).bytes);
  };
  const Message experiment = decode(content(1).at(2).bytes);
  EXPECT_EQ(decode(experiment.at(4).bytes).at(1).text(), "shuffle");
  EXPECT_EQ(decode(experiment.at(4).bytes).at(4).bits, 2U) << "a boolean";
  EXPECT_EQ(decode(decode(experiment.at(5).bytes).at(1).bytes).at(2).text(), "loss/g");

  std::map<std::string, Message> values;
  const Message start = content(2);
  proto::Reader reader(start.at(3).bytes);
  while (const auto field = reader.next()) {
    if (field->number != 1) continue;
    const Message entry = decode(field->bytes);
    values[std::string(entry.at(1).text())] = decode(entry.at(2).bytes);
  }
  ASSERT_EQ(values.size(), 3U);
  EXPECT_EQ(values["lr"].at(2).as_double(), 1e-3);
  EXPECT_EQ(values["model"].at(3).text(), "3dgan");
  EXPECT_EQ(values["shuffle"].at(4).bits, 1U);

  EXPECT_EQ(decode(content(3).at(4).bytes).at(1).bits, 1U) << "success";
}

TEST_F(EventFileTest, ALaterWriterSortsBehindTheEarlierOnes) {
  std::string last;
  for (int i = 0; i < 3; ++i) {
    const EventFileWriter writer(folder_, [] { return 1.7e9; });
    EXPECT_GT(writer.path().filename().string(), last);
    last = writer.path().filename().string();
  }
}

TEST_F(EventFileTest, SaysWhereItCannotWrite) {
  write_file_atomically(folder_, "a file, not a folder");
  try {
    EventFileWriter writer(folder_ / "inside", clock());
    FAIL() << "a folder inside a file";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kEnvironment);
    EXPECT_NE(std::string(error.what()).find(folder_.string()), std::string::npos) << error.what();
  }
}

TEST_F(EventFileTest, AFullDiskIsAnEnvironmentError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EventFileWriter writer(folder_, clock());
  // The writer's descriptor is led onto the device that is always full.
  std::filesystem::path found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path(), ignored) == writer.path()) found = entry.path();
  }
  ASSERT_FALSE(found.empty());
  std::FILE* full = std::fopen("/dev/full", "wb");
  ASSERT_NE(full, nullptr);
  dup2(fileno(full), std::stoi(found.filename().string()));
  std::fclose(full);
  EXPECT_THROW(
      {
        writer.scalar("x", 1, 1);
        writer.flush();
      },
      Error);
}

}  // namespace
}  // namespace linac
