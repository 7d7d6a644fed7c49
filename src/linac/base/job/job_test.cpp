#include "linac/base/job/job.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"
#include "linac/base/job/target_values.h"

namespace linac::job {
namespace {

constexpr const char* kSmall = "data: {train: [a.h5]}\ntrain: {epochs: 2, optimizer: {lr: 0.5}}\n";

std::string message(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse_job(text, "job.yaml", overrides);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUser);
    return error.what();
  }
  return "no error";
}

TEST(Job, ReadsWritesAndReadsAgain) {
  const Job job = parse_job(kSmall, "job.yaml",
                            {"train.schedule.drops=[{epoch: 3, factor: 0.5}]", "train.lr=0.25", "data.test=b.h5"});
  EXPECT_EQ(job.train.epochs, 2);
  EXPECT_EQ(job.train.optimizer.lr, 0.25);
  EXPECT_EQ(job.data.test, (std::vector<std::string>{"b.h5"}));
  ASSERT_EQ(job.train.schedule.drops.size(), 1U);
  EXPECT_EQ(job.train.schedule.drops[0].epoch, 3);
  EXPECT_EQ(to_yaml(parse_job(to_yaml(job), "again", {})), to_yaml(job));
  const std::string text = to_yaml(parse_job(kSmall, "job.yaml", {"train.lr=1e-3"}));
  EXPECT_NE(text.find("lr: 0.001\n"), std::string::npos) << text;
}

TEST(Job, NamesTheNearestKeyAndTheLine) {
  EXPECT_NE(message("data: {train: [a.h5]}\ntrain:\n  epoch: 3\n")
                .find("job.yaml:3: unknown key 'train.epoch'; did you mean 'train.epochs'?"),
            std::string::npos);
  EXPECT_NE(message(kSmall, {"train.optimizer.name=adm"}).find("did you mean adam?"), std::string::npos);
}

TEST(Job, AValidationSplitIsAShareInPlaceOfTestFiles) {
  const std::string fit =
      "model: {kind: keras, file: m.keras}\ndata: {train: [a.h5], targets: [{column: y}], validation_split: ";
  EXPECT_EQ(message(fit + "0.2}\n"), "no error");
  for (const char* share : {"1", "-0.1", "1.5", ".nan", ".inf"})
    EXPECT_NE(message(fit + share + "}\n").find("must be between 0 and 1"), std::string::npos) << share;
  EXPECT_NE(message(fit + "0.2, test: [b.h5]}\n").find("leave one out"), std::string::npos);
  EXPECT_NE(message("data: {train: [a.h5], validation_split: 0.2}\n").find("give a 3dgan files"), std::string::npos);
  EXPECT_NE(message("data: {train: [a.h5]}\nvalidation_split: 0.2\n").find("data.validation_split here"),
            std::string::npos);
}

TEST(Job, AFoldIsOneOfSeveralInPlaceOfAValidationShare) {
  const std::string fit = "model: {kind: keras, file: m.keras}\ndata: {train: [a.h5], targets: [{column: y}], split: {";
  EXPECT_EQ(message(fit + "fold: 2/5, test: 0.1}}\n"), "no error");
  for (const char* fold : {"0/5", "6/5", "1/1", "2", "2/", "/5", "2/5x", "-1/5", "1/101", "1/99999999999"})
    EXPECT_NE(message(fit + "fold: " + fold + "}}\n").find("wanted is FOLD/FOLDS"), std::string::npos) << fold;
  EXPECT_NE(message(fit + "fold: 2/5, validation: 0.1}}\n").find("keep one of them"), std::string::npos);
  EXPECT_NE(message(fit + "fold: 2/5}, test: [b.h5]}\n").find("keep one of them"), std::string::npos);
}

TEST(Job, AnErrorOfAnOverrideNamesTheOverride) {
  const std::string message_of_value = message(kSmall, {"train.lr=abc"});
  EXPECT_NE(message_of_value.find("--set train.lr=abc: "), std::string::npos) << message_of_value;
  EXPECT_EQ(message_of_value.find("job.yaml"), std::string::npos) << message_of_value;
  EXPECT_NE(message(kSmall, {"model.variant=lstm"}).find("--set model.variant=lstm"), std::string::npos);
  EXPECT_NE(message(kSmall, {"model.kind=kerass"}).find("--set model.kind=kerass: "), std::string::npos);
  EXPECT_NE(message(kSmall, {"model={kind: kerass}"}).find("--set model={kind: kerass}: "), std::string::npos);
  EXPECT_NE(message(kSmall, {"train.epoch=3"}).find("did you mean 'train.epochs'?"), std::string::npos);
}

TEST(Job, SaysWhereAKeyBelongs) {
  EXPECT_NE(message("data: {train: [a.h5]}\nepochs: 3\n")
                .find("job.yaml:2: unknown key 'epochs'; did you mean "
                      "'train.epochs'?"),
            std::string::npos);
  EXPECT_NE(message("data: {train: [a.h5]}\noptimizer: {lr: 3}\n").find("did you mean 'train.optimizer'?"),
            std::string::npos);
  const auto of_inputs = [&](const std::string& inputs) {
    return message(
        "model: {kind: keras, file: m.keras}\ndata: {train: [a.h5], targets: [{column: y}], inputs: " + inputs + "}\n");
  };
  EXPECT_EQ(of_inputs("[{columns: [pt, eta]}, {columns: pt}]"), "no error");
  EXPECT_NE(of_inputs("[{column: x, columns: [pt]}]").find("data.inputs[0] has both column = x and columns = [pt]"),
            std::string::npos);
  EXPECT_NE(of_inputs("[{columns: [pt, eta, pt]}]").find("data.inputs[0].columns names pt twice"), std::string::npos);
  EXPECT_NE(of_inputs("[{columns: [pt, '']}]").find("data.inputs[0].columns[1] is empty"), std::string::npos);
  EXPECT_NE(message("data: {train: [a.h5], inputs: [{colum: x}]}\n").find("did you mean 'data.inputs[0].column'?"),
            std::string::npos);
  EXPECT_NE(message("data: {train: [a.h5]}\ntrain: {learning_rate: 1}\n").find("train.optimizer.lr"),
            std::string::npos);
  EXPECT_NE(message("data: {train: [a.h5]}\ntrain: {batch_size: 1}\n").find("set train.batch"), std::string::npos);
  EXPECT_NE(message("data: {train: [a.h5], validation_data: [b.h5]}\n").find("data.test"), std::string::npos);
}

TEST(Job, RefusesWhatCannotBe) {
  EXPECT_NE(message("data: {train: []}").find("data.train names no file"), std::string::npos);
  EXPECT_NE(message(kSmall, {"workers=3"}).find("more than train.replicas"), std::string::npos);
  EXPECT_NE(message(kSmall, {"train.batch=some"}).find("is not an integer"), std::string::npos);
  EXPECT_NE(message(kSmall, {"train.flip=0.7"}).find("train.flip"), std::string::npos);
  EXPECT_NE(message(kSmall, {"train.split.x=0"}).find("must be at least 1"), std::string::npos);
  EXPECT_NE(message(kSmall, {"train.split.x=16", "train.split.y=16"}).find("at most 64"), std::string::npos);
  EXPECT_NE(message(kSmall, {"train.split.x=2", "train.sync.mode=local"}).find("train.sync.mode = exact"),
            std::string::npos);
  EXPECT_NE(message(kSmall, {"train.split.x=2", "train.device=cuda"}).find("train.device = cpu alone"),
            std::string::npos);
  EXPECT_NE(message(kSmall, {"train.audit.rate=1.5"}).find("from 0 to 1"), std::string::npos);
  EXPECT_NE(message(kSmall, {"train.audit.rate=0.1", "train.sync.mode=local"}).find("train.sync.mode = exact"),
            std::string::npos);
  EXPECT_NE(message(kSmall, {"train.audit.rate=0.1", "train.device=cuda"}).find("train.device = cpu"),
            std::string::npos);
  EXPECT_NE(message(kSmall, {"train.audit.fault.in=sum"}).find("train.audit.fault.in"), std::string::npos);
  EXPECT_EQ(fault_place("none"), FaultPlace::kNone);
  EXPECT_EQ(fault_place("message"), FaultPlace::kMessage);
  EXPECT_EQ(fault_place(fault_places().back()), FaultPlace::kCheckpoint) << "a name a place";
  EXPECT_NE(message(kSmall, {"nonsense"}).find("expected key=value"), std::string::npos);
  EXPECT_NE(message("[1, 2]").find("not a job file"), std::string::npos);
}

TEST(Job, LabelSmoothingIsOfLossesThatHaveIt) {
  const std::string fit =
      "model: {kind: inclusive_classifier, variant: hlf}\ndata: {train: [a.h5], targets: [{column: y}]}\n"
      "train: {fit: {label_smoothing: 0.1, loss: ";
  EXPECT_NE(message(fit + "sparse_categorical_crossentropy}}\n").find(kNoSmoothing), std::string::npos);
  EXPECT_EQ(message(fit + "[sparse_categorical_crossentropy, binary_crossentropy]}}\n"), "no error");
}

TEST(JobModel, KnowsTheSettingsOfItsKindAlone) {
  const Job job = parse_job("model: {kind: inclusive_classifier, variant: hlf}\ndata: {train: [a], targets: [y]}\n",
                            "job.yaml", {"model.hlf_units=[8, 4]", "data.targets=[{column: y}]"});
  EXPECT_EQ(job.model.kind(), "inclusive_classifier");
  EXPECT_EQ(job.model.as<InclusiveClassifierSettings>().hlf_units, (std::vector<int64_t>{8, 4}));
  const std::string text = to_yaml(job);
  EXPECT_EQ(text.find("latent"), std::string::npos) << text;
  EXPECT_EQ(to_yaml(parse_job(text, "again", {})), text);
  EXPECT_NE(message(kSmall, {"model.variant=lstm"})
                .find("model.variant is for model.kind = inclusive_classifier, not for 3dgan"),
            std::string::npos);
  EXPECT_NE(message(kSmall, {"model.kind=inclusive_classifier", "model.file=m.keras"})
                .find("model.kind = 3dgan, keras, torchscript, custom or cell_chain, not for inclusive_classifier"),
            std::string::npos);
  EXPECT_NE(message(kSmall, {"model.latnt=5"}).find("did you mean 'model.latent'?"), std::string::npos);
  EXPECT_NE(message(kSmall, {"model.kind=kears"}).find("did you mean keras?"), std::string::npos);
}

// EarlyStopping() and ReduceLROnPlateau() of Keras.
TEST(Job, ACallbackWithoutAPatienceHasThatOfKeras) {
  EXPECT_EQ(parse_job(kSmall, "job.yaml", {}).train.early_stopping.patience, kNever);
  const Job job =
      parse_job(kSmall, "job.yaml", {"train.early_stopping={monitor: auc}", "train.schedule.plateau.factor=0.5"});
  EXPECT_EQ(job.train.early_stopping.patience, 0);
  EXPECT_EQ(job.train.schedule.plateau.patience, 10);
  EXPECT_EQ(to_yaml(parse_job(to_yaml(job), "again", {})), to_yaml(job));
  EXPECT_NE(message(kSmall, {"train.early_stopping.patience=-2"}).find("must not be negative"), std::string::npos);
}

// An older version wrote 0 for never, and start_from_epoch not at all.
TEST(Job, AJobOfAnOlderRunStopsAsItDid) {
  std::string text =
      to_yaml(parse_job(kSmall, "job.yaml", {"train.early_stopping.monitor=auc", "train.schedule.plateau.patience=0"}));
  EXPECT_EQ(parse_job(text, "job.yaml", {}).train.schedule.plateau.patience, 0);
  const size_t line = text.find("    start_from_epoch: 0\n");
  ASSERT_NE(line, std::string::npos) << text;
  text.erase(line, std::string("    start_from_epoch: 0\n").size());
  const Job older = parse_job(text, "job.yaml", {});
  EXPECT_EQ(older.train.early_stopping.patience, kNever);
  EXPECT_EQ(older.train.schedule.plateau.patience, kNever);
}

TEST(JobOverrides, OneBeyondALimitIsNamed) {
  EXPECT_NE(message(kSmall, {"train.lr=0.1", "train.batch=0"}).find("--set train.batch=0: train.batch must be"),
            std::string::npos)
      << message(kSmall, {"train.lr=0.1", "train.batch=0"});
  EXPECT_NE(message(kSmall, {"train.device=cuda", "train.precision=bf16"}).find("--set train."), std::string::npos);
  const std::string wrong = std::string(kSmall) + "workers: 0\n";
  EXPECT_EQ(message(wrong.c_str(), {"train.batch=2"}).find("--set"), std::string::npos) << "the file is at fault";
  EXPECT_NE(message(wrong.c_str(), {"train.batch=0"}).find("--set train.batch=0: "), std::string::npos)
      << "both are, and the first mistake is the override's";
}

TEST(JobModel, AJobOfAnOlderRunListsTheSettingsOfAllKinds) {
  const char* const resolved =
      "model: {kind: 3dgan, file: \"\", from: \"\", generator: \"\", discriminator: \"\", options: {}, variant: gru, "
      "particles: 801, latent: 128, power: 8.5e-1}\ndata: {train: [a.h5]}\n";
  const Job job = parse_job(resolved, "job.yaml", {});
  EXPECT_EQ(job.model.as<ThreeDGanSettings>().latent, 128);
  const Job classifier = parse_job(
      resolved, "job.yaml", {"model.kind=inclusive_classifier", "model.latent=256", "data.targets=[{column: y}]"});
  EXPECT_TRUE(classifier.model.is<InclusiveClassifierSettings>());
  EXPECT_NE(message(resolved, {"model.kind=inclusive_classifier", "data.targets=[{column: y}]"})
                .find("model.latent is for model.kind = 3dgan"),
            std::string::npos);
}

TEST(JobModel, ChecksTheNetworks) {
  EXPECT_NE(message(kSmall, {"model.generator_filters=[8, 6]"}).find("model.generator_filters wants 6"),
            std::string::npos);
  EXPECT_NE(message(kSmall, {"model.discriminator_filters=[16, 8, 0, 8]"}).find("must be 1 to"), std::string::npos);
  EXPECT_NE(message(kSmall, {"model.loss_weights.angle=-1"}).find("model.loss_weights"), std::string::npos);
  EXPECT_NE(message(kSmall, {"model.dropout=1"}).find("model.dropout"), std::string::npos);
  EXPECT_NE(message(kSmall, {"model.generator=g.keras", "model.discriminator=d.keras", "model.dropout=0.1"})
                .find("linac's own"),
            std::string::npos);
  const std::vector<std::string> classifier{"model.kind=inclusive_classifier", "data.targets=[{column: y}]"};
  auto overrides = classifier;
  overrides.emplace_back("model.transformer.heads=5");
  EXPECT_NE(message(kSmall, overrides).find("cannot be shared"), std::string::npos);
  const auto numbers = numbers_of(parse_job(kSmall, "job.yaml", {"model.loss_weights.angle=20"}).model);
  EXPECT_EQ(numbers.at("loss_weights.angle"), 20);
  EXPECT_EQ(numbers.at("latent"), 256);
  EXPECT_EQ(numbers.count("generator"), 0U);
}

}  // namespace
}  // namespace linac::job
