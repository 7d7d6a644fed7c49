// Names of images. Registries are asked in tests/sites/image_test.py.

#include "linac/control/sites/image.h"

#include <gtest/gtest.h>

namespace linac::sites {
namespace {

std::string parts(const std::string& text) {
  const auto image = image_reference(text);
  return image ? image->registry + " " + image->repository + " " + image->version : "none";
}

TEST(Image, NamesAreReadAsDockerReadsThem) {
  EXPECT_EQ(parts("linac"), "registry-1.docker.io library/linac latest");
  EXPECT_EQ(parts("tensorflow/tensorflow:2.21.0"), "registry-1.docker.io tensorflow/tensorflow 2.21.0");
  EXPECT_EQ(parts("docker.io/calo/linac:1"), "registry-1.docker.io calo/linac 1");
  EXPECT_EQ(parts("localhost/linac:1"), "localhost linac 1");
  EXPECT_EQ(parts("registry.example.org:5000/calo/linac:1.0"), "registry.example.org:5000 calo/linac 1.0");
  EXPECT_EQ(parts("registry.example.org/linac@sha256:0a1b"), "registry.example.org linac sha256:0a1b");
  EXPECT_EQ(parts("registry.example.org/linac:1.0@sha256:0a1b"), "registry.example.org linac sha256:0a1b");
}

TEST(Image, WhatIsNoNameIsNone) {
  for (const char* const text :
       {"", "/", ":", "@", "linac:", "linac@", "linac@sha256", "a b", "a/../../b", "registry.example.org/", "a/b?c:1",
        "registry.example.org/a#b", "user:word@registry.example.org/a", "a\nb", "registry.example.org//a"})
    EXPECT_EQ(parts(text), "none") << text;
}

TEST(Image, OtherSchemesAndNoNamesAskNobody) {
  EXPECT_TRUE(ask_registry("library://calo/linac").doubtful);
  EXPECT_FALSE(ask_registry("docker://").good);
}

}  // namespace
}  // namespace linac::sites
