#include "cc/api/build_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace tensor_array_grad {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kWhole[] =
    "{\n  \"version\": \"0.1.0\",\n  \"tensorflow\": \"2.19.1\",\n"
    "  \"distribution\": \"tensorflow-cpu\",\n  \"cxx11_abi\": 1\n}\n";

// Reads a record with this text, beside the path of a library that need not exist.
absl::Status Read(const std::string& text, BuildRecord* record) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(absl::StrCat(folder, "/build_info.json")) << text;
  return ReadBuildRecord(absl::StrCat(folder, "/libtensor_array_grad.so"), "2.21.0", record);
}

BuildRecord For(const std::string& version) { return {version, "tensorflow-cpu", 1}; }

TEST(BuildRecordTest, RecordOfTheBuildIsRead) {
  BuildRecord record;
  const absl::Status status = Read(kWhole, &record);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(record.tensorflow, "2.19.1");
  EXPECT_EQ(record.distribution, "tensorflow-cpu");
  EXPECT_EQ(record.cxx11_abi, 1);
}

TEST(BuildRecordTest, RecordInOneLineIsReadAlike) {
  BuildRecord record;
  ASSERT_TRUE(Read(R"({"cxx11_abi":0,"distribution":"tf","tensorflow":"2.17.0"})", &record).ok());
  EXPECT_EQ(record.tensorflow, "2.17.0");
  EXPECT_EQ(record.cxx11_abi, 0);
}

TEST(BuildRecordTest, MissingRecordIsNotFoundAndNamesTheFile) {
  BuildRecord record;
  const absl::Status status = ReadBuildRecord("/no/where/lib.so", "2.21.0", &record);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(),
              HasSubstr("/no/where/build_info.json does not say what /no/where/lib.so"));
  EXPECT_THAT(status.message(), HasSubstr("running TensorFlow 2.21.0"));
}

TEST(BuildRecordTest, BrokenRecordIsRefused) {
  for (const char* text : {"", "[1]", "not json", R"({"tensorflow": "2.19.1"})",
                           R"({"tensorflow": "2.19.1", "distribution": "a", "cxx11_abi": "b"})",
                           R"({"tensorflow": 2.19, "distribution": "", "cxx11_abi": 1})"}) {
    BuildRecord record;
    EXPECT_EQ(Read(text, &record).code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(CheckFitTest, AnyPatchReleaseOfTheMinorVersionFits) {
  for (const char* running : {"2.19.0", "2.19.1", "2.19.7", "2.19.0rc1", "2.19.1+local", "2.19"}) {
    const absl::Status status = CheckFit(For("2.19.1"), running, 1, "lib.so");
    EXPECT_TRUE(status.ok()) << running << ": " << status;
  }
}

TEST(CheckFitTest, AnotherMinorVersionIsRefusedNamingBothAndTheCommand) {
  for (const char* running : {"2.18.1", "2.20.0", "2.190.0", "3.19.1", "2.2", "who knows", ""}) {
    const absl::Status status = CheckFit(For("2.19.1"), running, 1, "/some/lib.so");
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << running;
    EXPECT_THAT(status.message(), HasSubstr("/some/lib.so was built for TensorFlow 2.19.1"));
    EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("into TensorFlow ", running, " (C++11")));
    EXPECT_THAT(status.message(), HasSubstr("pip install 'tensorflow-cpu==2.19.*'"));
  }
}

TEST(CheckFitTest, AnotherAbiIsRefusedNamingBoth) {
  const absl::Status status = CheckFit(For("2.19.1"), "2.19.1", 0, "lib.so");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("2.19.1 (C++11 ABI 1)"));
  EXPECT_THAT(status.message(), HasSubstr("2.19.1 (C++11 ABI 0)"));
}

TEST(MappedLibrariesTest, CopiesAreFoundInTheMemoryMapOnceEach) {
  EXPECT_THAT(MappedLibraries("7f00-7f01 r-xp 00000000 08:01 12 /a b/libtensor_array_grad.so\n"
                              "7f01-7f02 r--p 00000000 08:01 12 /a b/libtensor_array_grad.so\n"
                              "7f03-7f04 r-xp 00000000 08:01 13 /c/libtensor_array_grad.so\n"
                              "7f05-7f06 r-xp 00000000 08:01 14 /c/notlibtensor_array_grad.so\n"
                              "7f07-7f08 rw-p 00000000 00:00 0\n"),
              ElementsAre("/a b/libtensor_array_grad.so", "/c/libtensor_array_grad.so"));
}

TEST(MappedLibrariesTest, ALibraryWhoseFileIsGoneIsFoundAndMarked) {
  const std::vector<std::string> found = MappedLibraries(
      "7f00-7f01 r-xp 00000000 08:01 12 /a/libtensor_array_grad.so (deleted)\n"
      "7f01-7f02 r-xp 00000000 08:01 13 /a/libtensor_array_grad.so\n"
      "7f02-7f03 r-xp 00000000 08:01 14 /a/other.so (deleted)\n");
  ASSERT_THAT(found,
              ElementsAre("/a/libtensor_array_grad.so (deleted)", "/a/libtensor_array_grad.so"));
  EXPECT_TRUE(IsDeleted(found[0]));
  EXPECT_FALSE(IsDeleted(found[1]));
}

}  // namespace
}  // namespace tensor_array_grad
