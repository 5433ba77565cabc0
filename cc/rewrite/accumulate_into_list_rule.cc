#include "cc/rewrite/rules.h"

#include <map>
#include <utility>

#include "cc/rewrite/list_sum.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

absl::Status ApplyAccumulateIntoList(tensorflow::Node* node, tensorflow::Graph* graph,
                                     std::vector<Rewrite>* done) {
  if (node->num_outputs() != 1 || node->output_type(0) != tensorflow::DT_VARIANT) {
    return absl::OkStatus();
  }
  std::map<int, Addend> addends;
  for (int i = 0; i < node->num_inputs(); ++i) {
    if (auto addend = MatchOneElementList(InputOf(*node, i), *node)) addends.emplace(i, *addend);
  }
  return AccumulateInstead(node, std::move(addends), graph, done);
}

}  // namespace

Rule AccumulateIntoListRule() { return {"accumulate_into_list", "AddN", ApplyAccumulateIntoList}; }

}  // namespace tensor_array_grad
