#pragma once

#include <any>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/error.h"
#include "core/graph/tensor.h"

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

/// The name of an object in a collection is what this overload, found beside its type, returns;
/// an object without one is passed over when a collection is read with a scope.
inline std::string collection_name(const Tensor& tensor) { return tensor.name(); }
inline std::string collection_name(const Operation& operation) { return operation.name(); }

/// One entry: any object, its name if it has one, and the tensor it stands for if there is one.
struct CollectionItem {
  std::any value;
  std::optional<std::string> name;
  std::optional<Tensor> tensor;

  template <class T>
  static CollectionItem of(const T& object) {
    CollectionItem item{std::any(object), std::nullopt, std::nullopt};
    if constexpr (requires { collection_name(object); }) item.name = collection_name(object);
    if constexpr (std::is_convertible_v<const T&, Tensor>) item.tensor = Tensor(object);
    return item;
  }
};

/// Objects, with the key and scope that found them: what `get_collection` returns, and what is
/// taken where a filter that found nothing is worth explaining. A list made by hand has no key.
template <class T>
struct Collected : std::vector<T> {
  Collected() = default;
  Collected(std::vector<T> items) : std::vector<T>(std::move(items)) {}  // NOLINT: given by hand
  Collected(std::initializer_list<T> items) : std::vector<T>(items) {}   // NOLINT

  std::string key;
  std::optional<std::string> scope;
  std::size_t total = 0;  ///< entries under the key, whatever the scope
};

/// All collections of a graph; entries keep their order and their duplicates.
class Collections {
 public:
  void add(const std::string& key, CollectionItem item);
  /// Entries under `key`; empty when there is none.
  const std::vector<CollectionItem>& all(const std::string& key) const;
  /// Entries whose name matches `scope` at its start: literally, or as a regular expression when it
  /// holds a metacharacter. Throws ValueError for a pattern that does not compile.
  std::vector<const CollectionItem*> matching(const std::string& key,
                                              const std::optional<std::string>& scope) const;
  std::vector<CollectionItem>& ref(const std::string& key);
  /// Why `scope` found nothing under `key`: how many entries there are, and which filter would
  /// match how many. One sentence or two, for the hint of an error.
  std::string explain_nothing(const std::string& key,
                              const std::optional<std::string>& scope) const;
  std::vector<std::string> keys() const;
  void clear(const std::string& key);

  template <class T>
  Collected<T> get(const std::string& key, const std::optional<std::string>& scope) const {
    Collected<T> found;
    found.key = key;
    found.scope = scope;
    found.total = all(key).size();
    for (const CollectionItem* item : matching(key, scope)) {
      if (const T* exact = std::any_cast<T>(&item->value)) {
        found.push_back(*exact);
      } else if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, Fetch>) {
        if (item->tensor) {
          found.push_back(*item->tensor);
        } else if constexpr (std::is_same_v<T, Fetch>) {
          const auto* operation = std::any_cast<Operation>(&item->value);
          if (operation == nullptr) throw_wrong_type(key, *item);
          found.push_back(*operation);
        } else {
          throw_wrong_type(key, *item);
        }
      } else {
        throw_wrong_type(key, *item);
      }
    }
    return found;
  }

 private:
  [[noreturn]] static void throw_wrong_type(const std::string& key, const CollectionItem& item);

  std::map<std::string, std::vector<CollectionItem>> items_;
};

}  // namespace towerflow::types
