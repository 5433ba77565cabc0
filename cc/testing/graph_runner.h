#ifndef CC_TESTING_GRAPH_RUNNER_H_
#define CC_TESTING_GRAPH_RUNNER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/public/session.h"

// Runs graphs that a test built in a scope. Test-only.
namespace tensor_array_grad {

// A session of the graph in `scope`; null after an error, which is then in `status`. Grappler is
// on, as it is by default.
inline std::unique_ptr<tensorflow::Session> NewSession(const tensorflow::Scope& scope,
                                                       absl::Status* status) {
  tensorflow::GraphDef graph;
  *status = scope.ToGraphDef(&graph);
  if (!status->ok()) return nullptr;
  tensorflow::Session* made = nullptr;
  *status = tensorflow::NewSession(tensorflow::SessionOptions(), &made);
  std::unique_ptr<tensorflow::Session> session(made);
  if (status->ok()) *status = session->Create(graph);
  return status->ok() ? std::move(session) : nullptr;
}

inline absl::Status RunGraph(tensorflow::Session& session,
                             const std::vector<tensorflow::Output>& fetched,
                             std::vector<tensorflow::Tensor>* values) {
  std::vector<std::string> names;
  for (const tensorflow::Output& output : fetched) names.push_back(output.name());
  return session.Run({}, names, {}, values);
}

// One run of the graph in `scope`, in a session of its own.
inline absl::Status RunGraph(const tensorflow::Scope& scope,
                             const std::vector<tensorflow::Output>& fetched,
                             std::vector<tensorflow::Tensor>* values) {
  absl::Status status;
  const std::unique_ptr<tensorflow::Session> session = NewSession(scope, &status);
  return session == nullptr ? status : RunGraph(*session, fetched, values);
}

}  // namespace tensor_array_grad

#endif  // CC_TESTING_GRAPH_RUNNER_H_
