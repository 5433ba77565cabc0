#ifndef CC_FLOW_REMARKS_H_
#define CC_FLOW_REMARKS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cc/flow/graph_names.h"

// What the rules of the graph pass did, and why they did not do more. A *remark* is about nodes
// that a rule could replace but for one condition, like a missed-optimization remark of a compiler.
namespace tensor_array_grad {

// In these structs, empty initializers let `{a, b}` leave out what follows without a warning.
// NOLINTBEGIN(readability-redundant-member-init)

// A rewrite that a rule of the graph pass applied.
struct Rewrite {
  std::string rule;
  std::string replaced;  // names of the replaced nodes, separated by commas
  std::string by;        // name of the node that replaces them
  std::string loop{};    // name of the frame that has the new node; "" outside of loops
};

// Why a rule did not apply a rewrite, although `node` belongs to its pattern.
struct Remark {
  std::string rule;
  std::string node;
  std::string text;    // a sentence, without the full stop
  std::string loop{};  // name of the frame that has `node`; "" outside of loops
};

// What the rules did, and did not do, with one graph.
struct GraphRemarks {
  std::vector<Rewrite> done{};
  std::vector<Remark> missed{};
};

// NOLINTEND(readability-redundant-member-init)

// The first condition of a proof that does not hold; no text if all hold so far. It points to a
// constant text and to a node, so that it costs nothing if nothing asks for remarks.
struct Reason {
  const char* text = nullptr;  // a clause: $0 is the name of `node`, $1 are those of its readers
  const Node* node = nullptr;  // must exist until the remark is made

  // Returns `holds`. If it is false, and no reason is known yet, the reason is `otherwise`.
  bool Require(bool holds, const char* otherwise, const Node& about) {
    if (!holds && text == nullptr) *this = {otherwise, &about};
    return holds;
  }
};

// What the rules did with one graph.
struct Outcome : GraphRemarks {
  const char* rule = "";       // the rule that runs now
  bool wants_remarks = false;  // if not, `missed` stays empty

  void Did(std::string replaced, std::string by);

  // Adds the remark about `node` that says "`effect`, because `why`", unless it is there already,
  // or `why` has no text, or no remarks are wanted.
  void Missed(const Node& node, absl::string_view effect, const Reason& why);
};

}  // namespace tensor_array_grad

#endif  // CC_FLOW_REMARKS_H_
