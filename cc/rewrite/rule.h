#ifndef CC_REWRITE_RULE_H_
#define CC_REWRITE_RULE_H_

#include "absl/status/status.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/remarks.h"

namespace tensor_array_grad {

// One rewrite of a placed graph: finds a group of nodes, proves that it may be replaced, and
// replaces it.
//
// A rule saves work, or repairs what an optimizer of TensorFlow did to the program. Otherwise the
// graph gives the same values and errors as before; docs/semantics.md has the exceptions. A data
// edge within one device never becomes an edge between two. A rule has no state and is therefore
// thread-safe. It looks at op names and attributes, at kernels only to see whether one is
// registered, and at the name of a node only to see which optimizer made it.
struct Rule {
  // Short: rewrites are counted as `graph.<name>`.
  const char* name;

  // Whether `apply` is to be called for the node: whether it may be the last node of a group or,
  // for a rule that rewrites loops, whether it is a LoopCond. Looks at the node and its readers
  // only.
  bool (*may_apply)(const Node& node);

  // Replaces the groups that end in `node`, or those in the loop of `node`, and notes each rewrite
  // in `outcome`. If there was one, `node` may have been removed. Notes too why a group of the
  // rule's pattern is left. On error the graph may be inconsistent and must not be run.
  //
  // Requires: may_apply(*node), and `node` runs in this process. A rule that adds ops of this
  // library on the devices of other nodes must check that these run in this process too.
  absl::Status (*apply)(Node* node, Graph* graph, Outcome* outcome);
};

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_RULE_H_
