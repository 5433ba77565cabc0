#include "cc/kernels/activation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tensor_array_grad {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Built ForVersion(const std::string& version) {
  return {version, /*gpu_kernels=*/false, {"TensorArrayV3", "TensorArrayReadV3"}};
}

// A CPU machine with the TensorFlow that the library was built for.
Surroundings Fitting() {
  Surroundings around;
  around.running_version = "2.21.0";
  around.kernels = {{"TensorArrayV3", "CPU", {}, 0, ""}, {"TensorArrayReadV3", "CPU", {}, 0, ""}};
  return around;
}

TEST(ActivationTest, AFittingProcessIsTakenOver) {
  Built built = ForVersion("2.21.1");
  built.ops.push_back("TensorArrayGrad>ListAccumulate");  // our own op: nothing to replace
  const Activation activation = Decide(Fitting(), built);
  EXPECT_TRUE(activation.active) << activation.reason;
  EXPECT_EQ(activation.reason, "replaced 2 ops");
}

TEST(ActivationTest, TheEnvironmentCanSwitchItOff) {
  for (const char* value : {"off", "OFF", "0", "false"}) {
    Surroundings around = Fitting();
    around.environment_switch = value;
    const Activation activation = Decide(around, ForVersion("2.21.0"));
    EXPECT_FALSE(activation.active) << value;
    EXPECT_THAT(activation.reason, HasSubstr(std::string("TENSOR_ARRAY_GRAD=") + value));
  }
}

TEST(ActivationTest, OtherValuesOfTheSwitchMeanOn) {
  for (const char* value : {"", "on", "1", "offline"}) {
    Surroundings around = Fitting();
    around.environment_switch = value;
    EXPECT_TRUE(Decide(around, ForVersion("2.21.0")).active) << value;
  }
}

TEST(ActivationTest, AnotherMinorVersionIsRefusedNamingBoth) {
  const Activation activation = Decide(Fitting(), ForVersion("2.20.0"));
  EXPECT_FALSE(activation.active);
  EXPECT_THAT(activation.reason, HasSubstr("built for TensorFlow 2.20.0 but 2.21.0 is running"));
}

TEST(ActivationTest, AVersionThatCannotBeToldIsNotRefused) {
  Surroundings around = Fitting();
  around.running_version = "";
  EXPECT_TRUE(Decide(around, ForVersion("2.21.0")).active);
}

TEST(ActivationTest, ASecondCopyReplacesNothing) {
  Surroundings around = Fitting();
  around.kernels.push_back({"TensorArrayReadV3", "CPU", {}, 1, ""});
  const Activation activation = Decide(around, ForVersion("2.21.0"));
  EXPECT_FALSE(activation.active);
  EXPECT_THAT(activation.reason, HasSubstr("already replaced TensorArrayReadV3 on CPU"));
}

TEST(ActivationTest, ALabelledKernelIsNoRival) {
  Surroundings around = Fitting();
  around.kernels.push_back({"TensorArrayReadV3", "CPU", {}, 1, "theirs"});
  EXPECT_TRUE(Decide(around, ForVersion("2.21.0")).active);
}

TEST(ActivationTest, AVisibleGpuWithoutGpuKernelsReplacesNothing) {
  Surroundings around = Fitting();
  around.gpu_visible = true;
  const Activation activation = Decide(around, ForVersion("2.21.0"));
  EXPECT_FALSE(activation.active);
  EXPECT_THAT(activation.reason, HasSubstr("GPU is visible"));
  Built both = ForVersion("2.21.0");
  both.gpu_kernels = true;
  EXPECT_TRUE(Decide(around, both).active);
}

TEST(ActivationTest, AnOpWithoutOurKernelIsAHoleNamedOnce) {
  const std::vector<RegisteredKernel> stock = {
      {"TensorArrayReadV3", "CPU", {"float"}, 0, ""},
      {"TensorArrayWriteV3", "CPU", {"float"}, 0, ""},
      {"TensorArrayWriteV3", "CPU", {"double"}, 0, ""},
      {"TensorArrayWriteV3", "GPU", {"float"}, 0, ""},
  };
  EXPECT_THAT(Holes(stock, {"TensorArrayReadV3"}, /*gpu_kernels=*/false),
              ElementsAre("TensorArrayWriteV3 on CPU"));
  EXPECT_THAT(Holes(stock, {"TensorArrayReadV3"}, /*gpu_kernels=*/true),
              ElementsAre("TensorArrayWriteV3 on CPU", "TensorArrayWriteV3 on GPU"));
  EXPECT_THAT(Holes(stock, {"TensorArrayReadV3", "TensorArrayWriteV3"}, false), IsEmpty());
}

TEST(ActivationTest, AFamilyWithAHoleIsLeftToStock) {
  Surroundings around = Fitting();
  around.kernels.push_back({"TensorArrayCloseV3", "CPU", {}, 0, ""});
  const Activation activation = Decide(around, ForVersion("2.21.0"));
  EXPECT_FALSE(activation.active);
  EXPECT_EQ(activation.cause, "hole");
  EXPECT_THAT(activation.reason, HasSubstr("lacks kernels for TensorArrayCloseV3 on CPU"));
}

TEST(ActivationTest, KernelsOfOursAreNoReasonForAHole) {
  EXPECT_THAT(Holes({{"TensorArrayReadV3", "CPU", {}, 1, ""}}, {}, false), IsEmpty());
}

TEST(ActivationTest, NoOpIsInTwoFamilies) {
  std::vector<std::string> ops;
  for (const OpFamily& family : OpFamilies()) {
    ops.insert(ops.end(), family.ops.begin(), family.ops.end());
  }
  EXPECT_EQ(ops.size(), 31u);
  EXPECT_EQ(std::set<std::string>(ops.begin(), ops.end()).size(), ops.size());
}

}  // namespace
}  // namespace tensor_array_grad
