#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <exception>

#include "tensor_array_grad/introspection.h"

namespace py = pybind11;
namespace tag = tensor_array_grad::introspection;

namespace {

// Calls a Python function, or none, for each loop. If it fails, the loop has no line. The function
// is never destroyed, because a loop may be prepared while Python ends.
void SetLocator(const py::object& locator) {
  if (locator.is_none()) {
    const py::gil_scoped_release unlocked;
    return tag::SetLocator(nullptr);
  }
  auto* const function = new py::object(locator);
  auto call = [function](const tag::Loop& loop) -> std::pair<std::string, std::string> {
    if (Py_IsInitialized() == 0) return {};
    const py::gil_scoped_acquire locked;
    try {
      return (*function)(loop).cast<std::pair<std::string, std::string>>();
    } catch (const std::exception&) {  // of Python, or the result has another type
      return {};
    }
  };
  const py::gil_scoped_release unlocked;
  tag::SetLocator(call);
}

}  // namespace

PYBIND11_MODULE(_bind, m) {
  m.doc() = "Counters, switches and existing arrays of the loaded op library; never tensors.";

  py::class_<tag::Decision>(m, "Decision")
      .def_readonly("active", &tag::Decision::active)
      .def_readonly("cause", &tag::Decision::cause)
      .def_readonly("reason", &tag::Decision::reason);
  py::class_<tag::Kernel>(m, "Kernel")
      .def_readonly("op", &tag::Kernel::op)
      .def_readonly("device", &tag::Kernel::device)
      .def_readonly("types", &tag::Kernel::types)
      .def_readonly("priority", &tag::Kernel::priority);
  py::class_<tag::Array>(m, "Array")
      .def_readonly("name", &tag::Array::name)
      .def_readonly("dtype", &tag::Array::dtype)
      .def_readonly("size", &tag::Array::size)
      .def_readonly("bytes", &tag::Array::bytes)
      .def_readonly("is_gradient", &tag::Array::is_gradient)
      .def_readonly("gradients", &tag::Array::gradients);
  py::class_<tag::LoopNote>(m, "LoopNote")
      .def_readonly("rule", &tag::LoopNote::rule)
      .def_readonly("text", &tag::LoopNote::text)
      .def_readonly("node", &tag::LoopNote::node);
  py::class_<tag::Loop>(m, "Loop")
      .def_readonly("id", &tag::Loop::id)
      .def_readonly("outer", &tag::Loop::outer)
      .def_readonly("name", &tag::Loop::name)
      .def_readonly("body", &tag::Loop::body)
      .def_readonly("condition", &tag::Loop::condition)
      .def_readonly("cause", &tag::Loop::cause)
      .def_readonly("python", &tag::Loop::python)
      .def_readonly("heaviest", &tag::Loop::heaviest)
      .def_readonly("heaviest_type", &tag::Loop::heaviest_type)
      .def_readonly("heaviest_share", &tag::Loop::heaviest_share)
      .def_readonly("is_watched", &tag::Loop::is_watched)
      .def_readonly("left", &tag::Loop::left)
      .def_readonly("trace", &tag::Loop::trace)
      .def_readonly("notes", &tag::Loop::notes)
      .def_readonly("runs", &tag::Loop::runs)
      .def_readonly("iterations", &tag::Loop::iterations)
      .def_readonly("seconds", &tag::Loop::seconds)
      .def_readonly("two_threads", &tag::Loop::two_threads)
      .def_readonly("handed_back", &tag::Loop::handed_back)
      .def_readonly("passed_on", &tag::Loop::passed_on)
      .def_readonly("passed_by", &tag::Loop::passed_by)
      .def_readonly("gain", &tag::Loop::gain)
      .def_readonly("executor_runs", &tag::Loop::executor_runs)
      .def_readonly("executor_iterations", &tag::Loop::executor_iterations)
      .def_readonly("executor_seconds", &tag::Loop::executor_seconds);

  // Releases the GIL, because existing_arrays may wait for the lock of an array.
  using Unlocked = py::call_guard<py::gil_scoped_release>;
  m.def("library_decision", &tag::LibraryDecision);
  m.def("kernel_decision", &tag::KernelDecision);
  m.def("counters", &tag::Counters);
  m.def("xla_compilations", &tag::XlaCompilations, Unlocked());
  m.def("executor_threads", &tag::ExecutorThreads, py::arg("asked"));
  m.def("existing_arrays", &tag::ExistingArrays, Unlocked());
  m.def("build_facts", &tag::BuildFacts);
  m.def("kernels", &tag::Kernels);
  m.def("families", &tag::Families);
  m.def("missing_kernels", &tag::MissingKernels);
  m.def("loops", &tag::Loops, Unlocked());
  m.def("watch_loops", &tag::WatchLoops, py::arg("watch"));
  // Releases the GIL, because the locator, which takes it, may be called at the same time.
  m.def("set_locator", &SetLocator, py::arg("locator"));
  m.def("graph_pass_enabled", &tag::GraphPassEnabled);
  m.def("set_graph_pass_enabled", &tag::SetGraphPassEnabled, py::arg("enabled"));
  m.def("loops_enabled", &tag::LoopsEnabled);
  m.def("set_loops_enabled", &tag::SetLoopsEnabled, py::arg("enabled"));
  m.def("set_hand_back_after", &tag::SetHandBackAfter, py::arg("iterations"));
  m.def("set_trailing_thread_after", &tag::SetTrailingThreadAfter, py::arg("iterations"));
}
