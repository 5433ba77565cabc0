#ifndef CC_GRAPH_RULE_H_
#define CC_GRAPH_RULE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// One rewrite that was applied, in words for the log.
struct Rewrite {
  std::string replaced;  // names of the nodes that went away, separated by commas
  std::string by;        // name of the node that took their place
};

// One rewrite of a placed graph: finds a group of nodes, proves that it may be replaced, replaces.
//
// A rule only saves work: the graph before and after give the same values and the same errors, and
// no data edge that stayed on one device comes to cross two. Stateless, hence thread-safe. Knows op
// names and attributes; nothing of kernels but whether one is registered.
class Rule {
 public:
  virtual ~Rule() = default;

  // Short name, the counter's: rewrites are counted as `graph.<name>`.
  virtual const char* name() const = 0;

  // The op type at which a group of this rule ends; only such nodes are offered to Apply.
  virtual const char* op() const = 0;

  // Replaces the groups that end in `node`, if any, and appends what was done to `done`. `node` may
  // be gone afterwards if `done` grew. On error the graph must not be run. `node` runs in this
  // process; a rule that puts ops of ours elsewhere must see to it that they do too.
  virtual absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                             std::vector<Rewrite>* done) const = 0;
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_RULE_H_
