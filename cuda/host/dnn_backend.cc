// The calls of cuDNN's backend API that make, fill and read descriptors.
#include <algorithm>
#include <cstring>
#include <utility>

#include "cuda/host/dnn_descriptor.h"
#include "cuda/host/libraries.h"
#include "cuda/host/library_handles.h"

namespace towerflow::cuda::host {
namespace {

auto& descriptors = *new LibraryHandles<cudnnBackendDescriptor_t, DnnDescriptor>;

std::size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
      return 8;
    case CUDNN_TYPE_BOOLEAN:
      return sizeof(bool);
    default:
      return 4;  // enumerations and floats
  }
}

cudnnStatus_t bad(const char* text) { return dnn_error(CUDNN_STATUS_BAD_PARAM, text); }

bool is_operation(cudnnBackendDescriptorType_t type) {
  return type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
}

/// Operations, graphs and engines have to be finalized when they are set; tensors need not, but
/// then what uses them cannot be finalized.
bool may_be_unfinalized(cudnnBackendDescriptorType_t type) {
  return type == CUDNN_BACKEND_TENSOR_DESCRIPTOR || type == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR ||
         type == CUDNN_BACKEND_POINTWISE_DESCRIPTOR;
}

cudnnStatus_t set_descriptors(DnnDescriptor& descriptor, const DnnAttribute& attribute,
                              std::int64_t count, const void* array) {
  const auto* const handles = static_cast<const cudnnBackendDescriptor_t*>(array);
  std::vector<DnnDescriptorPtr> list;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto child = descriptors.find(handles[i]);
    if (child == nullptr) return bad("a descriptor does not exist");
    const bool fits =
        attribute.descriptor < 0 ? is_operation(child->type) : attribute.descriptor == child->type;
    // The library takes any descriptor for the one it expects, and ends the process later.
    if (!fits) return bad("a descriptor is of the wrong type");
    if (!child->finalized && !may_be_unfinalized(child->type)) {
      return dnn_error(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor is not finalized");
    }
    list.push_back(child->finalized ? child : std::make_shared<DnnDescriptor>(*child));
  }
  descriptor.put(attribute.name, std::move(list));
  return CUDNN_STATUS_SUCCESS;
}

/// Fills descriptors that the caller has created, as many as there is room for.
cudnnStatus_t get_descriptors(const DnnValue* value, std::int64_t requested, void* array) {
  if (array == nullptr || value == nullptr) return CUDNN_STATUS_SUCCESS;
  auto* const handles = static_cast<cudnnBackendDescriptor_t*>(array);
  const std::int64_t count = std::min(requested, value->count);
  for (std::int64_t i = 0; i < count; ++i) {
    const DnnDescriptor& source = *value->descriptors[static_cast<std::size_t>(i)];
    const auto target = descriptors.find(handles[i]);
    if (target == nullptr || target->type != source.type || target->finalized) {
      return bad("a descriptor for the result does not exist, is finalized or of the wrong type");
    }
    *target = source;
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

std::shared_ptr<DnnDescriptor> find_descriptor(cudnnBackendDescriptor_t handle) {
  return descriptors.find(handle);
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  if (descriptor == nullptr) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "there is no place for the descriptor");
  }
  if (!has_descriptors(type)) {
    return dnn_error(CUDNN_STATUS_NOT_SUPPORTED,
                     "the emulation has no descriptors of type " + std::to_string(type));
  }
  auto made = std::make_shared<DnnDescriptor>();
  made->type = type;
  *descriptor = descriptors.add(std::move(made));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  if (descriptor == nullptr) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the descriptor is null");
  }
  return descriptors.remove(descriptor) ? CUDNN_STATUS_SUCCESS
                                        : bad("the descriptor does not exist");
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t handle,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* array) {
  if (handle == nullptr) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the descriptor is null");
  }
  const auto descriptor = descriptors.find(handle);
  if (descriptor == nullptr) return bad("the descriptor does not exist");
  if (descriptor->finalized) return bad("the descriptor is finalized");
  const DnnAttribute* const attribute = find_attribute(descriptor->type, name);
  if (attribute == nullptr || !attribute->settable) {
    return bad("the descriptor has no such attribute to set");
  }
  const bool is_scale = attribute->type == CUDNN_TYPE_FLOAT && type == CUDNN_TYPE_DOUBLE;
  if (type != attribute->type && !is_scale) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "the attribute has another type");
  }
  if (count < 1 || count > attribute->most || (attribute->most == 1 && count != 1)) {
    return bad("the number of values is wrong");
  }
  if (array == nullptr) return bad("the values are null");
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    return set_descriptors(*descriptor, *attribute, count, array);
  }
  DnnValue& value = descriptor->values[name];
  value = {type, count, {}, {}};
  value.bytes.resize(static_cast<std::size_t>(count) * size_of(type));
  std::memcpy(value.bytes.data(), array, value.bytes.size());
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t handle,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t requested,
                                       std::int64_t* count, void* array) {
  if (handle == nullptr) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the descriptor is null");
  }
  const auto descriptor = descriptors.find(handle);
  if (descriptor == nullptr) return bad("the descriptor does not exist");
  if (!descriptor->finalized) {
    return dnn_error(CUDNN_STATUS_NOT_INITIALIZED, "the descriptor is not finalized");
  }
  const DnnAttribute* const attribute = find_attribute(descriptor->type, name);
  if (attribute == nullptr) return bad("the descriptor has no such attribute");
  const auto found = descriptor->values.find(name);
  const DnnValue* const value = found == descriptor->values.end() ? nullptr : &found->second;
  if (type != (value == nullptr ? attribute->type : value->type)) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "the attribute has another type");
  }
  if (requested < 0) return bad("the number of values is negative");
  const std::int64_t available = value == nullptr ? 0 : value->count;
  // Without room for values the call tells how many there are, otherwise how many it wrote.
  const std::int64_t written = array == nullptr ? 0 : std::min(requested, available);
  if (count != nullptr) *count = written == 0 ? available : written;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) return get_descriptors(value, requested, array);
  if (written > 0) {
    std::memcpy(array, value->bytes.data(), static_cast<std::size_t>(written) * size_of(type));
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  if (handle == nullptr) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the descriptor is null");
  }
  const auto descriptor = descriptors.find(handle);
  if (descriptor == nullptr) return bad("the descriptor does not exist");
  if (descriptor->finalized) return bad("the descriptor is finalized already");
  const cudnnStatus_t status = finalize(*descriptor);
  descriptor->finalized = status == CUDNN_STATUS_SUCCESS;
  return status;
}

}  // namespace towerflow::cuda::host
