#include "cc/rewrite/accumulate_into_list_rule.h"

#include <map>
#include <utility>

#include "cc/rewrite/list_sum.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {

absl::Status AccumulateIntoListRule::Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                                           std::vector<Rewrite>* done) const {
  if (node->num_outputs() != 1 || node->output_type(0) != tensorflow::DT_VARIANT) {
    return absl::OkStatus();
  }
  std::map<int, Addend> addends;
  for (int i = 0; i < node->num_inputs(); ++i) {
    if (auto addend = MatchOneElementList(InputOf(*node, i), *node)) addends.emplace(i, *addend);
  }
  return AccumulateInstead(node, std::move(addends), graph, done);
}

}  // namespace tensor_array_grad
