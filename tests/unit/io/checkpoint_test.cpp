// SPDX-License-Identifier: Apache-2.0
#include "cli/io/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/io/scratch_directory.hpp"

namespace mxgemm::cli {
namespace {

using internal::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string one_tensor(const std::string& name) {
  return safetensors_text("{\"" + name + R"(":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                          name + "123");
}

class CheckpointTest : public testing::Test {
 protected:
  Status open(const std::string& index) {
    directory_.write("m.safetensors.index.json", index);
    return Checkpoint::open(directory_.file("m.safetensors.index.json"), &checkpoint_);
  }

  ScratchDirectory directory_;
  Checkpoint checkpoint_;
};

TEST_F(CheckpointTest, OpensASingleFile) {
  const std::string path = directory_.write("m.safetensors", one_tensor("a"));
  ASSERT_TRUE(Checkpoint::open(path, &checkpoint_).ok());
  EXPECT_FALSE(checkpoint_.index().has_value());
  const auto place = checkpoint_.find("a");
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->shard->bytes(*place->tensor)[0], 'a');
  EXPECT_FALSE(checkpoint_.find("b").has_value());
}

TEST_F(CheckpointTest, OpensShards) {
  directory_.write("1.safetensors", one_tensor("a"));
  directory_.write("2.safetensors", one_tensor("b"));
  const Status status = open(
      R"({"metadata":{"total_size":8,"x":1},"weight_map":{"b":"2.safetensors","a":"1.safetensors"}})");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(checkpoint_.index()->shards, ElementsAre("1.safetensors", "2.safetensors"));
  const auto place = checkpoint_.find("b");
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->shard->bytes(*place->tensor)[0], 'b');
  EXPECT_EQ(checkpoint_.files().size(), 3u);
  const std::string again = make_checkpoint_index(*checkpoint_.index(), 17);
  EXPECT_EQ(again,
            "{\"metadata\":{\"x\":1,\"total_size\":17},\"weight_map\":{\"a\":\"1.safetensors\","
            "\"b\":\"2.safetensors\"}}\n");
}

TEST_F(CheckpointTest, ShardsOutsideTheDirectoryAreRefused) {
  directory_.write("1.safetensors", one_tensor("a"));
  for (const char* name : {"../1.safetensors", "/etc/passwd", "x/1.safetensors", "..", ".", ""}) {
    const Status status = open(std::string(R"({"weight_map":{"a":")") + name + R"("}})");
    EXPECT_EQ(status.code(), StatusCode::kIoError) << name;
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("m.safetensors.index.json"), HasSubstr("weight_map entry 'a'")));
  }
}

TEST_F(CheckpointTest, AMissingShardOrTensorIsNamed) {
  directory_.write("1.safetensors", one_tensor("a"));
  EXPECT_THAT(open(R"({"weight_map":{"a":"2.safetensors"}})").message(),
              AllOf(HasSubstr("index.json"), HasSubstr("2.safetensors: cannot open")));
  EXPECT_THAT(open(R"({"weight_map":{"a":"1.safetensors","b":"1.safetensors"}})").message(),
              AllOf(HasSubstr("1.safetensors"), HasSubstr("'b'")));
}

TEST_F(CheckpointTest, ATensorInTwoShardsIsRefused) {
  directory_.write("1.safetensors", one_tensor("a"));
  directory_.write("2.safetensors",
                   safetensors_text(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                                    R"("b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
                                    "abcdefgh"));
  EXPECT_THAT(open(R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})").message(),
              AllOf(HasSubstr("tensor 'a' is in two shards")));
}

TEST_F(CheckpointTest, IndexesThatAreNone) {
  for (const char* text : {"", "[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{"a":1}})",
                           R"({"weight_map":{},"metadata":1})",
                           R"({"weight_map":{"a":"1.safetensors","a":"1.safetensors"}})"}) {
    EXPECT_EQ(open(text).code(), StatusCode::kIoError) << text;
  }
}

TEST_F(CheckpointTest, WhatIsNoRegularFileIsRefused) {
  EXPECT_THAT(Checkpoint::open(directory_.file("."), &checkpoint_).message(),
              HasSubstr("directory"));
  EXPECT_THAT(Checkpoint::open("/dev/zero", &checkpoint_).message(),
              HasSubstr("not a regular file"));
  EXPECT_THAT(Checkpoint::open(directory_.file("missing.safetensors"), &checkpoint_).message(),
              HasSubstr("No such file"));
  EXPECT_THAT(Checkpoint::open(directory_.write("empty.safetensors", ""), &checkpoint_).message(),
              AllOf(HasSubstr("empty.safetensors"), HasSubstr("8 are missing")));
}

}  // namespace
}  // namespace mxgemm::cli
