#include "linac/train/trained/labelled_data.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"

namespace linac::trained {
namespace {

TEST(LabelledData, ASplitCountsAsKerasDoes) {
  EXPECT_EQ(events_before_split(1000, 0.2), 800);
  EXPECT_EQ(events_before_split(7, 0.2), 5);
  EXPECT_EQ(events_before_split(10, 0.7), 3);  // floor(10 * (1 - 0.7)), in double precision
  EXPECT_EQ(events_before_split(2, 0.5), 1);
  EXPECT_THROW(events_before_split(1, 0.5), Error);
  EXPECT_THROW(events_before_split(10, 0.95), Error);   // none to train on
  EXPECT_THROW(events_before_split(10, 1e-18), Error);  // none to test
}

TEST(LabelledData, ColumnsOfTextsComeBackWithTheirClasses) {
  const std::vector<data::ColumnRequest> targets{
      {"kind", {2}, {}, {}, {}, data::TextClasses{.count = 2, .output = "out", .names = {"QCD", "ttbar"}}},
      {"size", {}, {}, {}}};
  const auto back = columns_from_json(to_json(targets));
  ASSERT_TRUE(back[0].texts);
  EXPECT_EQ(back[0].texts->names, targets[0].texts->names);
  EXPECT_EQ(back[0].texts->count, 2);
  EXPECT_FALSE(back[1].texts);
  const nlohmann::json notes{{"targets", to_json(targets)}, {"classes", {"QCD", "ttbar"}}};
  EXPECT_EQ(classes_in(notes, 0, 2), targets[0].texts->names);
  EXPECT_TRUE(classes_in(notes, 1, 2).empty()) << "the names are those of the first output";
  EXPECT_TRUE(classes_in(notes, 0, 3).empty());
  EXPECT_EQ(classes_in({{"classes", {"a", "b", "c"}}}, 0, 3), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(classes_in(nullptr, 0, 2).empty());
}

TEST(LabelledData, TextsAreTargetsOfLossesOfClassesOnly) {
  job::Job job;
  job.data.targets.resize(2);
  job.data.targets[0].name = "b";
  job.data.targets[0].column = "kind";
  job.data.targets[0].classes = {"x", "y"};
  job.data.targets[1].column = "other";
  job.data.classes = {"first", "second"};
  const auto classes = [&](const char* output, graph::Shape shape, const char* loss, const data::ColumnRequest& column,
                           size_t number = 0) {
    graph::Node node;
    node.name = output;
    node.output = std::move(shape);
    return text_classes(job, number, node, loss, column);
  };
  const data::ColumnRequest kind{"kind", {}, {}, {}}, other{"other", {}, {}, {}}, scaled{"other", {}, {1}, {2}};
  EXPECT_EQ(classes("a", {1}, "binary_crossentropy", other)->count, 2);
  EXPECT_EQ(classes("a", {1}, "binary_crossentropy", other)->names, job.data.classes);
  EXPECT_EQ(classes("b", {1}, "binary_crossentropy", kind, 1)->names, (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(classes("a", {1}, "binary_crossentropy", other, 1)->names.empty());
  EXPECT_THROW(classes("a", {3}, "sparse_categorical_crossentropy", other), Error) << "two names for three classes";
  job.data.classes = {"first", "second", "first"};
  EXPECT_THROW(classes("a", {3}, "sparse_categorical_crossentropy", other), Error) << "a name twice";
  job.data.classes.clear();
  EXPECT_EQ(classes("a", {3}, "sparse_categorical_crossentropy", other)->count, 3);
  EXPECT_EQ(classes("a", {3}, "categorical_crossentropy", {"other", {3}, {}, {}})->count, 3);
  EXPECT_FALSE(classes("a", {1}, "mean_squared_error", other));
  EXPECT_FALSE(classes("a", {1}, "binary_crossentropy", scaled));
  EXPECT_FALSE(classes("a", {5, 3}, "sparse_categorical_crossentropy", {"other", {5}, {}, {}}));
  EXPECT_FALSE(classes("a", {3}, "categorical_crossentropy", {"", {3}, {}, {}, {{"p"}, {"q"}, {"r"}}}));
}

}  // namespace
}  // namespace linac::trained
