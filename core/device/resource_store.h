#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "core/device/pending_accesses.h"
#include "core/device/tensor_desc.h"
#include "core/graph/array.h"

namespace towerflow {

/// A stateful object that a node names: a queue, a reader, a random generator.
class Resource {
 public:
  virtual ~Resource() = default;
  /// Ends all current and future waits on the resource; called when the session closes.
  virtual void shut_down() {}
  /// Returns where `bytes`, an op's operand, were read: "'digits.tfrecord', record 7 at byte 912";
  /// "" if it was not here, or too long ago.
  virtual std::string origin_text(std::string_view) { return ""; }
};

/// The storage of a variable in a session: the master at the variable's home, which is pinned host
/// memory or a device's, or a replica of it in another memory. Elements are in logical order.
///
/// The address never changes once the variable exists, so a frame may keep it. An instruction that
/// reads the variable holds `mutex` shared, one that writes it holds it exclusively, until it has
/// ended or, on an asynchronous queue, until `pending` has noted it.
struct VariableStorage {
  std::string name;
  MemorySpace space = kHostSpace;
  Array value;  ///< its address is in `space`
  std::atomic<bool> initialized{false};
  std::atomic<std::uint64_t> version{0};  ///< of the value: see core/runtime/variable_version.h
  std::shared_mutex mutex;
  PendingAccesses pending;  ///< accesses by asynchronous queues
};

/// Returns whether a variable of this shape needs no initial value because it has no elements. (As
/// in TensorFlow, whose empty buffers count as initialized.)
bool starts_initialized(const Shape& shape);

/// Owns the variables and stateful resources of a session, by name. Thread-safe.
class ResourceStore {
 public:
  ~ResourceStore();

  /// Allocates a number of bytes in the memory space of the variable.
  using Allocate = std::function<std::shared_ptr<void>(std::size_t)>;

  /// Returns the storage of variable `name` at its home, memory `space`; created uninitialized on
  /// first use. Throws InvalidArgumentError if it exists with another dtype, shape or home.
  VariableStorage& variable(const std::string& name, MemorySpace space, DType dtype,
                            const Shape& shape, const Allocate& allocate);
  /// Returns the replica of variable `name` in memory `space`, which is not its home; created
  /// uninitialized on first use.
  VariableStorage& replica(const std::string& name, MemorySpace space, DType dtype,
                           const Shape& shape, const Allocate& allocate);
  /// Returns nullptr if the session has not used the variable yet.
  VariableStorage* find_variable(const std::string& name);
  std::vector<std::string> variable_names() const;

  /// Returns the resource `name` of type T, made by `make` on first use. Resources of other types
  /// may have the same name.
  template <class T>
  T& resource(const std::string& name, const std::function<std::unique_ptr<T>()>& make) {
    return static_cast<T&>(resource(typeid(T), name, [&make] { return make(); }));
  }
  /// Returns nullptr if no run has made it yet.
  template <class T>
  T* find_resource(const std::string& name) {
    return static_cast<T*>(find_resource(typeid(T), name));
  }
  /// Returns where the resources of the session read `bytes`: "read from .."; "" if none did.
  std::string origin_text(std::string_view bytes);
  void shut_down();

 private:
  Resource& resource(std::type_index type, const std::string& name,
                     const std::function<std::unique_ptr<Resource>()>& make);
  Resource* find_resource(std::type_index type, const std::string& name);

  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<VariableStorage>> variables_;
  std::map<std::pair<std::string, MemorySpace>, std::unique_ptr<VariableStorage>> replicas_;
  std::map<std::type_index, std::map<std::string, std::unique_ptr<Resource>>> resources_;
  bool shut_down_ = false;
};

}  // namespace towerflow
