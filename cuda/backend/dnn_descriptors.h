#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/graph/dtype.h"
#include "cuda/backend/device.h"

namespace towerflow::cuda {

/// An engine of cuDNN, by its global index, with the values of its knobs. Knobs that are not named
/// have their default.
struct EngineChoice {
  std::int64_t engine = 0;
  std::map<std::int64_t, std::int64_t> knobs{};  ///< values by cudnnBackendKnobType_t

  auto operator<=>(const EngineChoice&) const = default;
};

/// Makes descriptors of cuDNN's backend API and destroys them in the end. Every call that fails
/// throws.
class DnnDescriptors {
 public:
  using Descriptor = cudnnBackendDescriptor_t;
  using Name = cudnnBackendAttributeName_t;

  explicit DnnDescriptors(Device& device) : device_(device.shared_from_this()) {}
  ~DnnDescriptors();
  DnnDescriptors(const DnnDescriptors&) = delete;
  DnnDescriptors& operator=(const DnnDescriptors&) = delete;

  Descriptor make(cudnnBackendDescriptorType_t type);
  void set(Descriptor descriptor, Name name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);
  template <class T>
  void set(Descriptor descriptor, Name name, cudnnBackendAttributeType_t type, const T& value) {
    set(descriptor, name, type, 1, &value);
  }
  void set(Descriptor descriptor, Name name, std::span<const std::int64_t> values) {
    set(descriptor, name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()),
        values.data());
  }
  void set(Descriptor descriptor, Name name, Descriptor child) {
    set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &child);
  }
  void finalize(Descriptor descriptor);

  /// Descriptors that are ready for use:
  using Dims = std::array<std::int64_t, 4>;
  Descriptor tensor(std::int64_t uid, DType dtype, const Dims& sizes, const Dims& strides,
                    bool is_virtual = false);
  /// y = mode(x, b), or mode(x) if b is null.
  Descriptor pointwise(cudnnPointwiseMode_t mode, Descriptor x, Descriptor b, Descriptor y);
  Descriptor graph(std::span<const Descriptor> operations, cudnnHandle_t handle);

  /// Returns the configurations that the heuristics propose, the best first; none if they know
  /// nothing in this mode.
  std::vector<Descriptor> proposals(Descriptor graph, cudnnBackendHeurMode_t mode);
  EngineChoice choice(Descriptor configuration);
  /// Returns null if the library does not have it for this graph.
  Descriptor configuration(Descriptor graph, const EngineChoice& choice);
  std::vector<cudnnBackendNumericalNote_t> notes(Descriptor configuration);
  /// Returns null if the library cannot make a plan of the configuration.
  Descriptor try_plan(Descriptor configuration, cudnnHandle_t handle);
  std::int64_t workspace_bytes(Descriptor plan);

 private:
  bool try_finalize(Descriptor descriptor);
  /// Returns the descriptors that are values of an attribute.
  std::vector<Descriptor> children(Descriptor of, Name name, cudnnBackendDescriptorType_t type);
  Descriptor engine_of(Descriptor configuration);
  template <class T>
  T get(Descriptor descriptor, Name name, cudnnBackendAttributeType_t type);

  std::shared_ptr<const Device> device_;  // prepared kernels may outlive the session
  std::vector<Descriptor> made_;
};

/// Returns cuDNN's name of a dtype.
cudnnDataType_t dnn_type(DType dtype);
/// Returns the type in which numbers of a dtype are computed.
cudnnDataType_t dnn_compute_type(DType dtype);

}  // namespace towerflow::cuda
