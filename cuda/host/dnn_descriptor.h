#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace towerflow::cuda::host {

struct DnnDescriptor;
using DnnDescriptorPtr = std::shared_ptr<const DnnDescriptor>;

/// What was set for an attribute: plain values in bytes, or descriptors.
struct DnnValue {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
  std::int64_t count = 0;
  std::vector<std::byte> bytes;
  std::vector<DnnDescriptorPtr> descriptors;
};

/// A descriptor of cuDNN's backend API. A finalized one never changes, so others share it; of one
/// that is not finalized they keep a copy, as the library does.
struct DnnDescriptor {
  cudnnBackendDescriptorType_t type = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, DnnValue> values;

  bool has(cudnnBackendAttributeName_t name) const { return values.count(name) != 0; }

  /// Returns the only value of an attribute, or `otherwise` if it was not set.
  template <typename T>
  T get(cudnnBackendAttributeName_t name, T otherwise) const {
    const auto found = values.find(name);
    if (found == values.end() || found->second.bytes.size() < sizeof(T)) return otherwise;
    std::memcpy(&otherwise, found->second.bytes.data(), sizeof(T));
    return otherwise;
  }

  /// Returns all values of an attribute; none if it was not set.
  template <typename T>
  std::vector<T> list(cudnnBackendAttributeName_t name) const {
    const auto found = values.find(name);
    if (found == values.end()) return {};
    std::vector<T> list(found->second.bytes.size() / sizeof(T));
    if (!list.empty())
      std::memcpy(list.data(), found->second.bytes.data(), list.size() * sizeof(T));
    return list;
  }

  /// Returns a descriptor that was finalized when it was set, otherwise nullptr.
  DnnDescriptorPtr child(cudnnBackendAttributeName_t name) const {
    const auto found = values.find(name);
    if (found == values.end() || found->second.descriptors.empty()) return nullptr;
    const DnnDescriptorPtr& first = found->second.descriptors.front();
    return first->finalized ? first : nullptr;
  }

  /// Returns a number that was set as a float or as a double.
  double scale(cudnnBackendAttributeName_t name, double otherwise) const {
    const auto found = values.find(name);
    if (found == values.end()) return otherwise;
    return found->second.type == CUDNN_TYPE_DOUBLE
               ? get<double>(name, otherwise)
               : static_cast<double>(get<float>(name, static_cast<float>(otherwise)));
  }

  /// Sets a value from inside of the library.
  template <typename T>
  void put(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t value_type,
           const std::vector<T>& list) {
    DnnValue& value = values[name];
    value = {value_type, static_cast<std::int64_t>(list.size()), {}, {}};
    value.bytes.resize(list.size() * sizeof(T));
    if (!list.empty()) std::memcpy(value.bytes.data(), list.data(), value.bytes.size());
  }
  void put(cudnnBackendAttributeName_t name, std::vector<DnnDescriptorPtr> list) {
    values[name] = {
        CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(list.size()), {}, std::move(list)};
  }
};

/// What an attribute accepts.
struct DnnAttribute {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  std::int64_t most = 1;  ///< values
  /// Of CUDNN_TYPE_BACKEND_DESCRIPTOR: the type of the descriptors; -1 for any operation.
  int descriptor = -1;
  bool settable = true;
};

/// Returns nullptr if descriptors of this type have no such attribute.
const DnnAttribute* find_attribute(cudnnBackendDescriptorType_t type,
                                   cudnnBackendAttributeName_t name);
/// Returns whether the emulation has descriptors of this type.
bool has_descriptors(cudnnBackendDescriptorType_t type);

/// Checks a descriptor that is to be finalized, as the library does.
cudnnStatus_t finalize(DnnDescriptor& descriptor);

/// Remembers a text for cudnnGetLastErrorString in this thread, and returns the status.
cudnnStatus_t dnn_error(cudnnStatus_t status, std::string text);

/// Returns nullptr for a handle that was not created or is destroyed.
std::shared_ptr<DnnDescriptor> find_descriptor(cudnnBackendDescriptor_t handle);

}  // namespace towerflow::cuda::host
