// Runs a SavedModel, for example one that TensorFlow 1 wrote, with the kernels of this package.
//
//   run_saved_model FOLDER [INPUT=NUMBER,NUMBER,...]...
//
// Feeds the inputs of the signature `serving_default`: a list of numbers is a float vector, one
// number a scalar. Prints each output, then the counters of the library that are not 0:
// kernels.<op> counts the calls of its kernel for <op>. The op library is linked; Load() checks
// that it fits TensorFlow.

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tensor_array_grad/introspection.h"
#include "tensor_array_grad/load.h"
#include "tensorflow/cc/saved_model/loader.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/public/session.h"

namespace {

using tensorflow::Tensor;

void OrDie(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// Sets `tensor` to the numbers in `text`: a scalar for one number, else a vector.
absl::Status Parse(const std::string& text, Tensor* tensor) {
  const std::vector<std::string> numbers = absl::StrSplit(text, ',');
  const bool scalar = numbers.size() == 1;
  *tensor = Tensor(tensorflow::DT_FLOAT,
                   scalar ? tensorflow::TensorShape{}
                          : tensorflow::TensorShape{static_cast<int64_t>(numbers.size())});
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!absl::SimpleAtof(numbers[i], &tensor->flat<float>()(i))) {
      return absl::InvalidArgumentError(absl::StrCat("'", numbers[i], "' is not a number"));
    }
  }
  return absl::OkStatus();
}

// Appends the inputs on the command line to `feeds`, by the names of their tensors in the graph.
absl::Status ParseFeeds(const tensorflow::SignatureDef& signature, int argc, char** argv,
                        std::vector<std::pair<std::string, Tensor>>* feeds) {
  for (int i = 2; i < argc; ++i) {
    const std::pair<std::string, std::string> argument =
        absl::StrSplit(argv[i], absl::MaxSplits('=', 1));
    const auto input = signature.inputs().find(argument.first);
    if (input == signature.inputs().end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the signature has no input '", argument.first, "'"));
    }
    Tensor value;
    const absl::Status status = Parse(argument.second, &value);
    if (!status.ok()) return status;
    feeds->emplace_back(input->second.name(), value);
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FOLDER [INPUT=NUMBER,NUMBER,...]...\n", argv[0]);
    return 2;
  }
  OrDie(tensor_array_grad::Load(TENSOR_ARRAY_GRAD_LIBRARY));

  tensorflow::SavedModelBundle model;
  OrDie(tensorflow::LoadSavedModel(tensorflow::SessionOptions(), tensorflow::RunOptions(), argv[1],
                                   {"serve"}, &model));
  const auto& signatures = model.meta_graph_def.signature_def();
  const auto signature = signatures.find("serving_default");
  if (signature == signatures.end()) OrDie(absl::NotFoundError("no signature serving_default"));

  std::vector<std::pair<std::string, Tensor>> feeds;
  OrDie(ParseFeeds(signature->second, argc, argv, &feeds));
  // Sorted by name, because a protobuf map has no fixed order.
  std::map<std::string, std::string> outputs;
  for (const auto& output : signature->second.outputs()) {
    outputs[output.first] = output.second.name();
  }
  std::vector<std::string> names;
  for (const auto& output : outputs) names.push_back(output.second);
  std::vector<Tensor> values;
  OrDie(model.session->Run(feeds, names, {}, &values));

  size_t i = 0;
  for (const auto& output : outputs) {
    std::printf("%s = %s\n", output.first.c_str(), values[i++].SummarizeValue(100).c_str());
  }
  for (const auto& [name, count] : tensor_array_grad::introspection::Counters()) {
    if (count > 0) std::printf("%s: %lld\n", name.c_str(), static_cast<long long>(count));
  }
  return 0;
}
