#include "tensor_array_grad/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "tensorflow/c/c_api.h"

namespace tensor_array_grad {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

// Copies the library to a folder of its own with this record; no record if empty.
fs::path CopyWithRecord(const std::string& name, const std::string& record) {
  const fs::path folder = fs::path(::testing::TempDir()) / name;
  fs::create_directories(folder);
  fs::copy_file(TENSOR_ARRAY_GRAD_LIBRARY, folder / "libtensor_array_grad.so",
                fs::copy_options::overwrite_existing);
  fs::remove(folder / "build_info.json");
  if (!record.empty()) std::ofstream(folder / "build_info.json") << record;
  return fs::canonical(folder) / "libtensor_array_grad.so";
}

std::string RecordFor(const std::string& tensorflow) {
  return "{\"version\": \"0.1.0\", \"tensorflow\": \"" + tensorflow +
         "\", \"distribution\": \"tensorflow-cpu\", \"cxx11_abi\": 1}";
}

TEST(LoadTest, LibraryIsLoadedOnceHoweverOftenItIsAsked) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      const absl::Status status = Load(TENSOR_ARRAY_GRAD_LIBRARY);
      EXPECT_TRUE(status.ok()) << status;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(IsEnabled());
  EXPECT_EQ(Counters().count("kernels.no such op"), 0u);
}

TEST(LoadTest, LibraryForAnotherTensorFlowIsRefusedBeforeItIsOpened) {
  // The file is missing, so an attempt to open it would give another message.
  const fs::path path = CopyWithRecord("other", RecordFor("2.3.4"));
  fs::remove(path);
  const absl::Status status = Load(path);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "tensor_array_grad: " + path.string() +
                " was built for TensorFlow 2.3.4 (C++11 ABI 1) and cannot be loaded into "
                "TensorFlow " +
                TF_Version() +
                " (C++11 ABI 1). Install it again, from its source folder or from a wheel for this "
                "TensorFlow: pip install --force-reinstall --no-deps --no-cache-dir "
                "FOLDER_OR_WHEEL, "
                "or: pip install 'tensorflow-cpu==2.3.*'");
}

TEST(LoadTest, LibraryWithoutARecordIsRefused) {
  const absl::Status status = Load(CopyWithRecord("bare", ""));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("build_info.json does not say what"));
}

TEST(LoadTest, SecondCopyIsRefusedAndTheFirstStaysInUse) {
  ASSERT_TRUE(Load(TENSOR_ARRAY_GRAD_LIBRARY).ok());
  const fs::path copy = CopyWithRecord("copy", RecordFor(TF_Version()));
  const absl::Status status = Load(copy);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("and two copies of one kernel break every graph"));
  EXPECT_THAT(status.message(), HasSubstr(copy.string() + " is not used"));
  EXPECT_THAT(status.message(), HasSubstr("pip uninstall tensor_array_grad"));
  EXPECT_TRUE(IsEnabled());
}

// Puts another file in the place of the one at `path`, as the installation of a package does.
void ReplaceFile(const fs::path& path) {
  const fs::path other = path.string() + ".new";
  fs::copy_file(path, other);
  fs::rename(other, path);
}

bool IsRefusedAsReplaced(const absl::Status& status) {
  return absl::StrContains(status.message(), "was removed or replaced while this process uses it");
}

// In a process of its own, whose exit status is 0 if all is as expected.
TEST(LoadDeathTest, LibraryWhoseFileIsReplacedStaysInUse) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const fs::path path = CopyWithRecord("replaced", RecordFor(TF_Version()));
  const fs::path another = CopyWithRecord("another", RecordFor(TF_Version()));
  const auto steps = [&] {
    if (!Load(path).ok()) return 1;
    ReplaceFile(path);
    if (!Load(path).ok() || !IsEnabled()) return 2;
    return IsRefusedAsReplaced(Load(another)) ? 0 : 3;
  };
  EXPECT_EXIT(exit(steps()), ::testing::ExitedWithCode(0), "");
}

TEST(LoadDeathTest, FileThatReplacedALoadedLibraryIsRefused) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const fs::path path = CopyWithRecord("replaced_later", RecordFor(TF_Version()));
  const auto steps = [&] {
    TF_Status* const status = TF_NewStatus();
    TF_LoadLibrary(path.c_str(), status);
    if (TF_GetCode(status) != TF_OK) return 1;
    ReplaceFile(path);
    return IsRefusedAsReplaced(Load(path)) ? 0 : 2;
  };
  EXPECT_EXIT(exit(steps()), ::testing::ExitedWithCode(0), "");
}

TEST(LoadTest, EnvironmentCanSwitchItOffWithoutAnError) {
  for (const char* value : {"off", "OFF", "0", "false"}) {
    setenv("TENSOR_ARRAY_GRAD", value, /*overwrite=*/1);
    const absl::Status status = Load("/no/where/libtensor_array_grad.so");
    EXPECT_TRUE(status.ok()) << value << ": " << status;
  }
  setenv("TENSOR_ARRAY_GRAD", "on", /*overwrite=*/1);
  EXPECT_FALSE(Load("/no/where/libtensor_array_grad.so").ok());
  unsetenv("TENSOR_ARRAY_GRAD");
}

}  // namespace
}  // namespace tensor_array_grad
