#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
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
  /// Ends every wait in it for good; called when the session closes.
  virtual void shut_down() {}
};

/// The storage of one variable in one session, in logical order: one master at the variable's home,
/// which is pinned memory of the host or a device's, or what other memory has as a replica of it.
///
/// The address never changes once the variable exists, so a frame may hold it. `mutex` is held
/// shared while an instruction that reads the variable is launched, and exclusively for one that
/// writes it: until it has ended, or where the queue goes on by itself until `pending` knows of it.
struct VariableStorage {
  std::string name;
  MemorySpace space = kHostSpace;
  Array value;  ///< its address is one of `space`
  std::atomic<bool> initialized{false};
  std::atomic<std::uint64_t> version{0};  ///< writes so far; of a replica: the master's, it holds
  std::shared_mutex mutex;
  PendingAccesses pending;  ///< by queues that go on when the lock is free again
};

/// Whether a variable of this shape needs no initial value, since it has no elements. (As in
/// TensorFlow, whose empty buffers count as initialized.)
bool starts_initialized(const Shape& shape);

/// Owns the variables and stateful resources of a session, by name. Safe from several threads.
class ResourceStore {
 public:
  ~ResourceStore();

  /// Gives memory of so many bytes, in the space that is meant.
  using Allocate = std::function<std::shared_ptr<void>(std::size_t)>;

  /// The storage of variable `name` at its home, memory `space`, made uninitialised on first use.
  /// Throws InvalidArgumentError when it exists with another dtype or shape, or elsewhere.
  VariableStorage& variable(const std::string& name, MemorySpace space, DType dtype,
                            const Shape& shape, const Allocate& allocate);
  /// What memory `space`, which is not its home, has of variable `name`; uninitialised on first
  /// use.
  VariableStorage& replica(const std::string& name, MemorySpace space, DType dtype,
                           const Shape& shape, const Allocate& allocate);
  /// nullptr when the session has not touched it yet.
  VariableStorage* find_variable(const std::string& name);
  std::vector<std::string> variable_names() const;

  /// The resource `name` of type T, made by `make` on first use. Resources of other types may have
  /// the name, too.
  template <class T>
  T& resource(const std::string& name, const std::function<std::unique_ptr<T>()>& make) {
    return static_cast<T&>(resource(typeid(T), name, [&make] { return make(); }));
  }
  /// nullptr when no run has made it yet.
  template <class T>
  T* find_resource(const std::string& name) {
    return static_cast<T*>(find_resource(typeid(T), name));
  }
  /// `visit` must not call the store.
  void for_each_resource(const std::function<void(Resource&)>& visit);
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
