#include "linac/control/catalog/artifact_location.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"
#include "linac/base/base/refusal.h"
#include "linac/control/catalog/runs.h"

namespace linac::catalog {
namespace {

TEST(ArtifactLocation, OfARun) {
  EXPECT_EQ(run_artifacts(7, "", "id"), "mlflow-artifacts:/7/id/artifacts");
  EXPECT_EQ(run_artifacts(7, "s3://bucket", "id"), "s3://bucket/id/artifacts");
}

TEST(ArtifactLocation, IsAPlaceOfTheServiceOrAStore) {
  for (const char* good : {"", "mlflow-artifacts:/calo", "mlflow-artifacts:/calo/2026 b/ä/", "s3://bucket/folder",
                           "gs://bucket", "hdfs://host:1/x"})
    EXPECT_NO_THROW(check_artifact_location(good)) << good;
  for (const char* bad : {"http://host/x",
                          "https://host/x",
                          "mlflow-artifacts:/../../etc",
                          "mlflow-artifacts:/a/../../b",
                          "mlflow-artifacts://etc/cron.d",
                          "mlflow-artifacts:///etc",
                          "mlflow-artifacts:/",
                          "mlflow-artifacts:",
                          "mlflow-artifacts:x",
                          "mlflow-artifacts:/a//b",
                          "mlflow-artifacts:/./a",
                          "mlflow-artifacts:/%2e%2e/a",
                          "mlflow-artifacts:/a\\b",
                          "mlflow-artifacts:/0/run/artifacts/x",
                          "mlflow-artifacts:/7",
                          "mlflow-artifacts:/models/x",
                          "mlflow-artifacts:/calo/0123456789abcdef0123456789abcdef/x",
                          "mlflow-artifacts:/calo/m-0123456789abcdef0123456789abcdef",
                          "mlflow-artifacts:/calo/run/artifacts",
                          "mlflow-artifacts:/artifacts",
                          "/etc",
                          "etc",
                          "../etc",
                          "file:///etc",
                          "file:/etc",
                          "FILE:///etc",
                          "s3:///x",
                          "s3://",
                          "s3://b/../c",
                          "s3://b\nc",
                          "MLFLOW-ARTIFACTS:/x"})
    EXPECT_THROW(check_artifact_location(bad), Refusal) << bad;
  EXPECT_THROW(check_artifact_location("s3://b/" + std::string(2000, 'a')), Refusal);
}

TEST(ArtifactLocation, OfStoresOnlyThoseOfTheService) {
  const std::vector<std::string> stores{"s3://bucket/calo", "gs://other"};
  for (const char* good : {"", "mlflow-artifacts:/x", "runs:/id/model", "models:/m-1", "s3://bucket/calo",
                           "s3://bucket/calo/x", "gs://other/y"})
    EXPECT_NO_THROW(check_store(good, stores)) << good;
  for (const char* bad : {"s3://bucket", "s3://bucket/calorimeter", "s3://bucket/calo/../x", "gs://others",
                          "hdfs://host/x", "dbfs:/x", "S3://bucket/calo"})
    EXPECT_THROW(check_store(bad, stores), Refusal) << bad;
  EXPECT_THROW(check_store("s3://bucket/calo", {}), Refusal);
  EXPECT_NO_THROW(check_stores(stores));
  for (const char* bad : {"http://host", "/x", "s3://", "s3://b/", "mlflow-artifacts:/x"})
    EXPECT_THROW(check_stores({bad}), Error) << bad;
}

TEST(ArtifactLocation, GivesNoPathThatLeadsElsewhere) {
  EXPECT_EQ(own_artifacts("mlflow-artifacts:/0/run/artifacts"), "0/run/artifacts");
  for (const char* other :
       {"mlflow-artifacts:/../x", "mlflow-artifacts://x/y", "mlflow-artifacts:/", "s3://x", "/x", ""})
    EXPECT_FALSE(own_artifacts(other)) << other;
}

}  // namespace
}  // namespace linac::catalog
