#include "tests/cuda/judges.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace towerflow::testing {
namespace {

std::atomic<Judges*> active = nullptr;

/// The calls that are repeated as they are: what makes a descriptor, changes one, or ends it.
#define TOWERFLOW_JUDGED(CALL)                       \
  CALL(create, cublasLtMatmulDescCreate)             \
  CALL(change, cublasLtMatmulDescSetAttribute)       \
  CALL(destroy, cublasLtMatmulDescDestroy)           \
  CALL(create, cublasLtMatrixLayoutCreate)           \
  CALL(change, cublasLtMatrixLayoutSetAttribute)     \
  CALL(destroy, cublasLtMatrixLayoutDestroy)         \
  CALL(create, cublasLtMatmulPreferenceCreate)       \
  CALL(change, cublasLtMatmulPreferenceSetAttribute) \
  CALL(destroy, cublasLtMatmulPreferenceDestroy)     \
  CALL(change, cudnnBackendFinalize)                 \
  CALL(destroy, cudnnBackendDestroyDescriptor)
template <auto kEntry>
constexpr const char* kName = nullptr;
#define TOWERFLOW_NAME(kind, name) \
  template <>                      \
  constexpr const char* kName<&cuda::Table::name> = #name;
TOWERFLOW_JUDGED(TOWERFLOW_NAME)
#undef TOWERFLOW_NAME

bool is_of_cublaslt(const char* call) { return std::strncmp(call, "cublasLt", 8) == 0; }

/// Returns the numbers among the arguments of a call.
template <class... Args>
std::string numbers_of(const Args&... args) {
  std::string text;
  [[maybe_unused]] const auto add = [&](const auto& arg) {
    using T = std::remove_cvref_t<decltype(arg)>;
    if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      text += fmt::format(" {}", static_cast<long long>(arg));
    }
  };
  (add(args), ...);
  return text;
}

/// Returns whether cuDNN takes such a descriptor without a handle.
bool needs_no_handle(cudnnBackendDescriptorType_t kind) {
  switch (kind) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return true;
    default:
      return false;
  }
}

}  // namespace

/// Functions without an object, as the table has them. What the base refuses is not judged.
struct Judges::Calls {
  template <auto kEntry, class Status, class Handle, class... Args>
  static Status create(Handle* made, Args... args) {
    Judges& own = *active;
    const Status status = (own.base_->*kEntry)(made, args...);
    if (status != 0) return status;
    Handle real = nullptr;
    const std::lock_guard lock(own.mutex_);
    own.note(kName<kEntry>, (library(kName<kEntry>).*kEntry)(&real, args...), numbers_of(args...));
    own.real_[*made] = real;
    return status;
  }
  template <auto kEntry, class Status, class Handle, class... Args>
  static Status change(Handle handle, Args... args) {
    Judges& own = *active;
    const Status status = (own.base_->*kEntry)(handle, args...);
    const std::lock_guard lock(own.mutex_);
    const auto known = own.real_.find(handle);
    if (status != 0 || known == own.real_.end()) return status;
    auto* const real = static_cast<Handle>(known->second);
    own.note(kName<kEntry>, (library(kName<kEntry>).*kEntry)(real, args...), numbers_of(args...));
    return status;
  }
  template <auto kEntry, class Status, class Handle>
  static Status destroy(Handle handle) {
    const Status status = change<kEntry, Status, Handle>(handle);
    const std::lock_guard lock(active.load()->mutex_);
    active.load()->real_.erase(handle);
    return status;
  }

  // The two calls of cuDNN's graphs that cannot be repeated as they are.
  static cudnnStatus_t create_part(cudnnBackendDescriptorType_t kind,
                                   cudnnBackendDescriptor_t* made) {
    Judges& own = *active;
    const cudnnStatus_t status = own.base_->cudnnBackendCreateDescriptor(kind, made);
    if (status != CUDNN_STATUS_SUCCESS || !needs_no_handle(kind)) return status;
    cudnnBackendDescriptor_t real = nullptr;
    const std::lock_guard lock(own.mutex_);
    own.note("cudnnBackendCreateDescriptor", own.cudnn_->cudnnBackendCreateDescriptor(kind, &real),
             numbers_of(kind));
    own.real_[*made] = real;
    return status;
  }
  static cudnnStatus_t set_part(cudnnBackendDescriptor_t part, cudnnBackendAttributeName_t name,
                                cudnnBackendAttributeType_t type, std::int64_t count,
                                const void* values) {
    Judges& own = *active;
    const cudnnStatus_t status =
        own.base_->cudnnBackendSetAttribute(part, name, type, count, values);
    const std::lock_guard lock(own.mutex_);
    const auto real = own.real_.find(part);
    if (status != CUDNN_STATUS_SUCCESS || real == own.real_.end()) return status;
    std::vector<void*> parts;  // the library's, for those of the base
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      const auto* given = static_cast<const cudnnBackendDescriptor_t*>(values);
      for (std::int64_t i = 0; i < count; ++i) parts.push_back(own.real_.at(given[i]));
      values = parts.data();
    }
    own.note("cudnnBackendSetAttribute",
             own.cudnn_->cudnnBackendSetAttribute(real->second, name, type, count, values),
             numbers_of(name, type, count));
    return status;
  }

 private:
  static const cuda::Table& library(const char* call) {
    return is_of_cublaslt(call) ? *active.load()->cublaslt_ : *active.load()->cudnn_;
  }
};

Judges::Judges(const cuda::Table* cublaslt, const cuda::Table* cudnn)
    : cublaslt_(cublaslt), cudnn_(cudnn) {
  Judges* none = nullptr;
  if (!active.compare_exchange_strong(none, this)) throw std::logic_error("two layers of judges");
}

Judges::~Judges() { active = nullptr; }

const cuda::Table& Judges::on(const cuda::Table& base) {
  base_ = &base;
  update();
  return table_;
}

/// Copies entries that are new, except for those that are judged.
void Judges::update() {
#define TOWERFLOW_ENTRY(name) \
  if (table_.name == nullptr) table_.name = base_->name;
  TOWERFLOW_CUDA_ENTRIES(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
#define TOWERFLOW_JUDGE(kind, name) \
  if (base_->name != nullptr) table_.name = &Calls::kind<&cuda::Table::name>;
  TOWERFLOW_JUDGED(TOWERFLOW_JUDGE)
#undef TOWERFLOW_JUDGE
  if (base_->cudnnBackendCreateDescriptor == nullptr) return;
  table_.cudnnBackendCreateDescriptor = &Calls::create_part;
  table_.cudnnBackendSetAttribute = &Calls::set_part;
}

std::map<std::string, int> Judges::judged() const {
  const std::lock_guard lock(mutex_);
  return judged_;
}

std::vector<std::string> Judges::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

void Judges::note(const char* call, int status, const std::string& numbers) {
  ++judged_[call];
  if (status != 0) refused_.push_back(fmt::format("{}{}: status {}", call, numbers, status));
}

}  // namespace towerflow::testing
