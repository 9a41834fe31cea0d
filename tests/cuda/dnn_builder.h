#pragma once

#include <cudnn.h>

#include <map>
#include <string>
#include <vector>

#include "cuda/table/table.h"

namespace towerflow::cuda::testing {

using Dims = std::vector<std::int64_t>;

/// Strides of a tensor whose elements lie together: channels first or last.
Dims channels_first(const Dims& dims);
Dims channels_last(const Dims& dims);

struct TensorSpec {
  std::int64_t uid = 1;
  Dims dims, strides;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::int64_t alignment = 16;
  bool is_virtual = false;
  bool by_value = false;
};

struct ConvolutionSpec {
  Dims pre = {1, 1}, post = {1, 1}, strides = {1, 1}, dilations = {1, 1};
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  std::int64_t spatial = 2;
};

enum class Kind { forward, data_gradient, weight_gradient };

/// Makes descriptors of cuDNN's backend API with the calls of a table: of the emulation, or of the
/// real library.
class DnnBuilder {
 public:
  using Descriptor = cudnnBackendDescriptor_t;

  explicit DnnBuilder(const Table& table) : table_(table) {}
  ~DnnBuilder();
  DnnBuilder(const DnnBuilder&) = delete;
  DnnBuilder& operator=(const DnnBuilder&) = delete;

  /// The first status since the last call of `reset` that was no success, and its text.
  cudnnStatus_t status() const { return status_; }
  const std::string& text() const { return text_; }
  void reset() { status_ = CUDNN_STATUS_SUCCESS; }

  Descriptor make(cudnnBackendDescriptorType_t type);
  void set(Descriptor descriptor, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  template <typename T>
  void set(Descriptor descriptor, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, const T& value) {
    set(descriptor, name, type, 1, &value);
  }
  void set(Descriptor descriptor, cudnnBackendAttributeName_t name, const Dims& values);
  /// Sets nothing if the child is null.
  void set_child(Descriptor descriptor, cudnnBackendAttributeName_t name, Descriptor child);
  void finalize(Descriptor descriptor);

  /// Each is finalized. Dimensions that are empty are not set.
  Descriptor tensor(const TensorSpec& spec);
  Descriptor convolution(const ConvolutionSpec& spec);
  Descriptor operation(Kind kind, Descriptor x, Descriptor w, Descriptor y, Descriptor convolution,
                       float alpha = 1, float beta = 0);
  Descriptor pointwise(cudnnPointwiseMode_t mode);
  /// Finalizes a descriptor that was made for a mode.
  void finalize_pointwise(Descriptor descriptor, cudnnPointwiseMode_t mode);
  /// Forward modes: y = mode(x, b). Backward modes: b is dy, y is dx.
  Descriptor pointwise_operation(Descriptor pointwise, Descriptor x, Descriptor b, Descriptor y,
                                 Descriptor t = nullptr, float alpha1 = 1, float alpha2 = 1);
  Descriptor graph(const std::vector<Descriptor>& operations);

  std::vector<Descriptor> configs(Descriptor graph,
                                  cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A);
  std::vector<cudnnBackendNumericalNote_t> notes(Descriptor config);
  Descriptor plan(Descriptor config);
  std::int64_t workspace(Descriptor plan);
  Descriptor pack(const Dims& uids, const std::vector<void*>& pointers, void* workspace);

 private:
  void note(cudnnStatus_t status);

  const Table& table_;
  std::vector<Descriptor> made_;
  std::map<Descriptor, cudnnPointwiseMode_t> modes_;
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
  std::string text_;
};

}  // namespace towerflow::cuda::testing
