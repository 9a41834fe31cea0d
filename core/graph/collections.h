#pragma once

#include <any>
#include <concepts>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/error.h"
#include "core/graph/fetch.h"

namespace towerflow::types {

/// Standard collection names. (tf.GraphKeys)
struct GraphKeys {
  static constexpr const char* GLOBAL_VARIABLES = "variables";
  static constexpr const char* LOCAL_VARIABLES = "local_variables";
  static constexpr const char* METRIC_VARIABLES = "metric_variables";
  static constexpr const char* MODEL_VARIABLES = "model_variables";
  static constexpr const char* TRAINABLE_VARIABLES = "trainable_variables";
  static constexpr const char* TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables";
  static constexpr const char* MOVING_AVERAGE_VARIABLES = "moving_average_variables";
  static constexpr const char* CONCATENATED_VARIABLES = "concatenated_variables";
  static constexpr const char* SUMMARIES = "summaries";
  static constexpr const char* QUEUE_RUNNERS = "queue_runners";
  static constexpr const char* TABLE_INITIALIZERS = "table_initializer";
  static constexpr const char* ASSET_FILEPATHS = "asset_filepaths";
  static constexpr const char* REGULARIZATION_LOSSES = "regularization_losses";
  static constexpr const char* LOSSES = "losses";
  static constexpr const char* SAVEABLE_OBJECTS = "saveable_objects";
  static constexpr const char* SAVERS = "savers";
  static constexpr const char* WEIGHTS = "weights";
  static constexpr const char* BIASES = "biases";
  static constexpr const char* ACTIVATIONS = "activations";
  static constexpr const char* UPDATE_OPS = "update_ops";
  static constexpr const char* SUMMARY_OP = "summary_op";
  static constexpr const char* GLOBAL_STEP = "global_step";
  static constexpr const char* TRAIN_OP = "train_op";
  static constexpr const char* INIT_OP = "init_op";
  static constexpr const char* LOCAL_INIT_OP = "local_init_op";
  static constexpr const char* READY_OP = "ready_op";
  static constexpr const char* COND_CONTEXT = "cond_context";
  static constexpr const char* WHILE_CONTEXT = "while_context";
};

/// Returns the name of an object in a collection. Found by argument-dependent lookup; a collection
/// read with a scope skips objects without an overload.
inline std::string collection_name(const Tensor& tensor) { return tensor.name(); }
inline std::string collection_name(const Operation& operation) { return operation.name(); }
inline std::string collection_name(const Gradient& gradient) { return gradient.name(); }

/// An entry: any object, with its name and the tensor it stands for, if any.
struct CollectionItem {
  std::any value;
  std::optional<std::string> name;
  std::optional<Tensor> tensor;

  /// Makes an entry of an object; strings of any type are stored as std::string.
  template <class T>
  static CollectionItem of(const T& object) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      return {std::any(std::string(std::string_view(object))), std::nullopt, std::nullopt};
    }
    CollectionItem item{std::any(object), std::nullopt, std::nullopt};
    if constexpr (std::same_as<T, OptionalGradient>) {
      if (object.has_value()) item = of(*object);
      item.value = object;
      return item;
    } else if constexpr (std::same_as<T, Gradient>) {
      if (object.is_dense()) item.tensor = object.dense();
    }
    if constexpr (requires { collection_name(object); }) item.name = collection_name(object);
    if constexpr (std::is_convertible_v<const T&, Tensor>) item.tensor = Tensor(object);
    return item;
  }

  /// Returns the entry as something to run or to wait for; nullopt if it is nothing of that kind.
  std::optional<Fetch> fetch() const;
};

class Collections;

/// The key and scope of a list of entries, to explain why something is missing in it.
struct CollectionQuery {
  std::string key;
  std::optional<std::string> scope;
  std::size_t total = 0;  ///< entries under the key, regardless of the scope
  const Collections* collections = nullptr;

  /// Explains why there are no more entries, for the hint of an error; "" for a list made by hand.
  std::string explain() const;
  /// Throws ValueError: a list of `size` has no element `index`.
  [[noreturn]] void throw_no_element(std::size_t index, std::size_t size, Site site) const;
};

/// Objects, with the key and scope that found them: the result of `get_collection`, and the
/// parameter of functions that explain an empty list. A list made by hand has no key. Accessing an
/// element that does not exist throws ValueError with that explanation.
template <class T>
struct Collected : std::vector<T>, CollectionQuery {
  Collected() = default;
  Collected(std::vector<T> items) : std::vector<T>(std::move(items)) {}  // NOLINT: given by hand
  Collected(std::initializer_list<T> items) : std::vector<T>(items) {}   // NOLINT

  decltype(auto) operator[](std::size_t index) { return checked(*this, index, {}); }
  decltype(auto) operator[](std::size_t index) const { return checked(*this, index, {}); }
  decltype(auto) at(std::size_t index, Site site = Site::current()) {
    return checked(*this, index, site);
  }
  decltype(auto) at(std::size_t index, Site site = Site::current()) const {
    return checked(*this, index, site);
  }
  decltype(auto) front(Site site = Site::current()) { return checked(*this, 0, site); }
  decltype(auto) front(Site site = Site::current()) const { return checked(*this, 0, site); }
  decltype(auto) back(Site site = Site::current()) { return checked(*this, last(), site); }
  decltype(auto) back(Site site = Site::current()) const { return checked(*this, last(), site); }

 private:
  std::size_t last() const { return this->empty() ? 0 : this->size() - 1; }

  template <class Self>
  static decltype(auto) checked(Self& self, std::size_t index, Site site) {
    if (index >= self.size()) self.throw_no_element(index, self.size(), site);
    return *(self.begin() + static_cast<std::ptrdiff_t>(index));
  }
};

/// All collections of a graph; entries keep their order and their duplicates. Only `nodes` may be
/// called from any thread, the rest only from the thread that builds the graph.
class Collections {
 public:
  Collections() = default;
  Collections(const Collections& other) = default;
  Collections& operator=(Collections&& other);

  void add(const std::string& key, CollectionItem item);
  /// Returns the entries under `key`, empty if there are none.
  const std::vector<CollectionItem>& all(const std::string& key) const;
  /// Returns the entries whose name matches `scope` at its beginning: literally, or as a regular
  /// expression if `scope` has a metacharacter. Throws ValueError for a pattern that does not
  /// compile.
  std::vector<const CollectionItem*> matching(const std::string& key,
                                              const std::optional<std::string>& scope) const;
  std::vector<CollectionItem>& ref(const std::string& key);
  /// Explains why `scope` matched nothing under `key`: how many entries there are, which scopes or
  /// keys are similar, and how many entries another filter would match. One or two sentences for
  /// the hint of an error.
  std::string explain_empty_result(const std::string& key,
                                   const std::optional<std::string>& scope) const;
  std::vector<std::string> keys() const;
  /// Returns the nodes of the tensors and operations under `key`.
  std::vector<const Node*> nodes(const std::string& key) const;
  void clear(const std::string& key);

  template <class T>
  Collected<T> get(const std::string& key, const std::optional<std::string>& scope) const {
    Collected<T> found;
    static_cast<CollectionQuery&>(found) = {key, scope, all(key).size(), this};
    for (const CollectionItem* item : matching(key, scope)) {
      if (const T* exact = std::any_cast<T>(&item->value)) {
        found.push_back(*exact);
      } else if constexpr (std::is_same_v<T, Tensor>) {
        if (!item->tensor) throw_wrong_type(key, *item);
        found.push_back(*item->tensor);
      } else if constexpr (std::is_same_v<T, Fetch>) {
        const std::optional<Fetch> fetch = item->fetch();
        if (!fetch) throw_wrong_type(key, *item);
        found.push_back(*fetch);
      } else {
        throw_wrong_type(key, *item);
      }
    }
    return found;
  }

 private:
  std::string nearest_keys_hint(const std::string& key) const;
  [[noreturn]] static void throw_wrong_type(const std::string& key, const CollectionItem& item);

  std::map<std::string, std::vector<CollectionItem>> items_;
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();  // for changes and `nodes`
};

}  // namespace towerflow::types
