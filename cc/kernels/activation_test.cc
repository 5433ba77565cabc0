#include "cc/kernels/activation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tensor_array_grad {
namespace {

using introspection::Kernel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Built ForVersion(const std::string& version) {
  return {version,
          /*gpu_kernels=*/false,
          {{"TensorArrayV3", "CPU", {}, 1, ""}, {"TensorArrayReadV3", "CPU", {}, 1, ""}}};
}

Built WithGpuKernels() {
  Built built = ForVersion("2.21.0");
  built.gpu_kernels = true;
  built.kernels.push_back({"TensorArrayV3", "GPU", {"float"}, 1, ""});
  built.kernels.push_back({"TensorArrayReadV3", "GPU", {"float"}, 1, ""});
  return built;
}

// A CPU machine with the TensorFlow that the library was built for.
Surroundings Fitting() {
  Surroundings around;
  around.running_version = "2.21.0";
  around.kernels = {{"TensorArrayV3", "CPU", {}, 0, ""}, {"TensorArrayReadV3", "CPU", {}, 0, ""}};
  return around;
}

TEST(ActivationTest, MatchingProcessGetsThisLibrarysKernels) {
  Built built = ForVersion("2.21.1");
  // An op of the library's own has no stock kernel to replace.
  built.kernels.push_back({"TensorArrayGrad>ListAccumulate", "CPU", {}, 1, ""});
  const Activation activation = Decide(Fitting(), built);
  EXPECT_TRUE(activation.library.active) << activation.library.reason;
  EXPECT_TRUE(activation.kernels.active) << activation.kernels.reason;
  EXPECT_EQ(activation.kernels.reason, "replaced 2 ops");
}

TEST(ActivationTest, TheEnvironmentCanSwitchItOff) {
  for (const char* value : {"off", "OFF", "0", "false"}) {
    Surroundings around = Fitting();
    around.environment_switch = value;
    const Activation activation = Decide(around, ForVersion("2.21.0"));
    EXPECT_FALSE(activation.library.active || activation.kernels.active) << value;
    EXPECT_THAT(activation.library.reason, HasSubstr(std::string("TENSOR_ARRAY_GRAD=") + value));
  }
}

TEST(ActivationTest, OtherValuesOfTheSwitchMeanOn) {
  for (const char* value : {"", "on", "1", "offline"}) {
    Surroundings around = Fitting();
    around.environment_switch = value;
    EXPECT_TRUE(Decide(around, ForVersion("2.21.0")).kernels.active) << value;
  }
}

TEST(ActivationTest, TheKernelsAloneCanBeSwitchedOff) {
  Surroundings around = Fitting();
  around.kernel_switch = "off";
  const Activation activation = Decide(around, ForVersion("2.21.0"));
  EXPECT_TRUE(activation.library.active);
  EXPECT_FALSE(activation.kernels.active);
  EXPECT_EQ(activation.kernels.cause, "kernels off");
  EXPECT_THAT(activation.kernels.reason, HasSubstr("TENSOR_ARRAY_GRAD_KERNELS=off"));
  around.kernel_switch = "on";
  EXPECT_TRUE(Decide(around, ForVersion("2.21.0")).kernels.active);
}

TEST(ActivationTest, AnotherMinorVersionIsRefusedNamingBoth) {
  const Activation activation = Decide(Fitting(), ForVersion("2.20.0"));
  EXPECT_FALSE(activation.library.active || activation.kernels.active);
  EXPECT_THAT(activation.library.reason,
              HasSubstr("built for TensorFlow 2.20.0 but 2.21.0 is running"));
}

TEST(ActivationTest, UnknownVersionIsNotRefused) {
  Surroundings around = Fitting();
  around.running_version = "";
  EXPECT_TRUE(Decide(around, ForVersion("2.21.0")).kernels.active);
}

TEST(ActivationTest, ASecondCopyReplacesNothing) {
  Surroundings around = Fitting();
  around.kernels.push_back({"TensorArrayReadV3", "CPU", {}, 1, ""});
  const Activation activation = Decide(around, ForVersion("2.21.0"));
  EXPECT_FALSE(activation.library.active || activation.kernels.active);
  EXPECT_THAT(activation.library.reason, HasSubstr("already replaced TensorArrayReadV3 on CPU"));
}

TEST(ActivationTest, LabelledKernelIsNotASecondCopy) {
  Surroundings around = Fitting();
  around.kernels.push_back({"TensorArrayReadV3", "CPU", {}, 1, "theirs"});
  EXPECT_TRUE(Decide(around, ForVersion("2.21.0")).kernels.active);
}

// A machine on which TensorFlow sees a GPU.
Surroundings WithAGpu() {
  Surroundings around = Fitting();
  around.gpu_visible = true;
  return around;
}

TEST(ActivationTest, AVisibleGpuWithoutGpuKernelsReplacesNothing) {
  const Activation activation = Decide(WithAGpu(), ForVersion("2.21.0"));
  EXPECT_TRUE(activation.library.active);
  EXPECT_FALSE(activation.kernels.active);
  EXPECT_EQ(activation.kernels.cause, "gpu");
  EXPECT_THAT(activation.kernels.reason,
              HasSubstr("a GPU is visible and this build has CPU kernels only"));
}

TEST(ActivationTest, VisibleGpuGetsGpuKernelsUnlessTheUserKeepsStocks) {
  Surroundings around = WithAGpu();
  for (const char* value : {"", "1", "on"}) {
    around.gpu_switch = value;
    EXPECT_TRUE(Decide(around, WithGpuKernels()).kernels.active) << value;
  }
  for (const char* value : {"0", "off"}) {
    around.gpu_switch = value;
    const Activation activation = Decide(around, WithGpuKernels());
    EXPECT_TRUE(activation.library.active) << value;
    EXPECT_FALSE(activation.kernels.active) << value;
    EXPECT_EQ(activation.kernels.cause, "gpu");
    EXPECT_THAT(activation.kernels.reason, HasSubstr("TENSOR_ARRAY_GRAD_GPU="));
  }
}

TEST(ActivationTest, AGpuThatOurDeviceCodeCannotRunOnIsLeftToStock) {
  Surroundings around = WithAGpu();
  around.gpu_obstacle = "the NVIDIA driver supports CUDA 12.4 and CUDA 13.0 is needed";
  const Activation activation = Decide(around, WithGpuKernels());
  EXPECT_TRUE(activation.library.active);
  EXPECT_FALSE(activation.kernels.active);
  EXPECT_EQ(activation.kernels.cause, "gpu");
  EXPECT_THAT(activation.kernels.reason, HasSubstr(around.gpu_obstacle));
}

TEST(ActivationTest, WithoutAVisibleGpuItsKernelsNeedNoSwitchAndMayBeMissing) {
  Surroundings around = Fitting();
  around.kernels.push_back({"TensorArrayReadV3", "GPU", {"half"}, 0, ""});
  EXPECT_TRUE(Decide(around, WithGpuKernels()).kernels.active);
  around.gpu_visible = true;
  const Activation activation = Decide(around, WithGpuKernels());
  EXPECT_FALSE(activation.library.active || activation.kernels.active);
  EXPECT_THAT(activation.library.reason, HasSubstr("lacks kernels for TensorArrayReadV3 on GPU"));
}

TEST(ActivationTest, UncoveredKernelIsNamedOnce) {
  const std::vector<Kernel> stock = {
      {"TensorArrayReadV3", "CPU", {"float"}, 0, ""},
      {"TensorArrayWriteV3", "CPU", {"float"}, 0, ""},
      {"TensorArrayWriteV3", "CPU", {"double"}, 0, ""},
      {"TensorArrayWriteV3", "GPU", {"float"}, 0, ""},
  };
  const Kernel read = {"TensorArrayReadV3", "CPU", {}, 1, ""};
  const Kernel write = {"TensorArrayWriteV3", "CPU", {}, 1, ""};
  EXPECT_THAT(UncoveredKernels(stock, {read}, /*gpu=*/false),
              ElementsAre("TensorArrayWriteV3 on CPU"));
  EXPECT_THAT(UncoveredKernels(stock, {read}, /*gpu=*/true),
              ElementsAre("TensorArrayWriteV3 on CPU", "TensorArrayWriteV3 on GPU"));
  EXPECT_THAT(UncoveredKernels(stock, {read, write}, /*gpu=*/false), IsEmpty());
}

TEST(ActivationTest, DtypeThatOnlyStockHasOnAGpuIsUncovered) {
  const Kernel ours = {"TensorListStack", "GPU", {"float", "int32"}, 1, ""};
  const auto uncovered = [&ours](const std::string& device, const std::vector<std::string>& types) {
    return UncoveredKernels({{"TensorListStack", device, types, 0, ""}}, {ours}, /*gpu=*/true);
  };
  EXPECT_THAT(uncovered("GPU", {"float"}), IsEmpty());
  EXPECT_THAT(uncovered("GPU", {"float", "int32"}), IsEmpty());
  EXPECT_THAT(uncovered("GPU", {"half"}), ElementsAre("TensorListStack on GPU"));
  EXPECT_THAT(uncovered("GPU", {}), ElementsAre("TensorListStack on GPU"));  // all dtypes
}

TEST(ActivationTest, AKernelForAnyDeviceServesAGpuToo) {
  const std::vector<Kernel> stock = {{"TensorListLength", "DEFAULT", {}, 0, ""}};
  EXPECT_THAT(UncoveredKernels(stock, {}, /*gpu=*/true), ElementsAre("TensorListLength on GPU"));
  EXPECT_THAT(UncoveredKernels(stock, {{"TensorListLength", "GPU", {}, 1, ""}}, /*gpu=*/true),
              IsEmpty());
  EXPECT_THAT(UncoveredKernels(stock, {}, /*gpu=*/false), IsEmpty());
}

TEST(ActivationTest, ThisBuildHasNoUncoveredKernel) {
  EXPECT_THAT(UncoveredKernels(KernelsOfFamilies(), ThisBuild().kernels, ThisBuild().gpu_kernels),
              IsEmpty());
}

TEST(ActivationTest, FamilyWithAnUncoveredKernelIsLeftToStock) {
  Surroundings around = Fitting();
  around.kernels.push_back({"TensorArrayCloseV3", "CPU", {}, 0, ""});
  const Activation activation = Decide(around, ForVersion("2.21.0"));
  EXPECT_FALSE(activation.library.active || activation.kernels.active);
  EXPECT_EQ(activation.library.cause, "missing kernel");
  EXPECT_THAT(activation.library.reason, HasSubstr("lacks kernels for TensorArrayCloseV3 on CPU"));
}

TEST(ActivationTest, KernelsOfThisLibraryAreNotUncovered) {
  EXPECT_THAT(UncoveredKernels({{"TensorArrayReadV3", "CPU", {}, 1, ""}}, {}, false), IsEmpty());
}

TEST(ActivationTest, NoOpIsInTwoFamilies) {
  std::vector<std::string> ops;
  for (const OpFamily& family : OpFamilies()) {
    ops.insert(ops.end(), family.ops.begin(), family.ops.end());
  }
  EXPECT_EQ(ops.size(), 35u);
  EXPECT_EQ(std::set<std::string>(ops.begin(), ops.end()).size(), ops.size());
}

}  // namespace
}  // namespace tensor_array_grad
