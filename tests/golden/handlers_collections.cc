// Collections of the default graph.
#include <set>

#include "core/graph/scopes.h"
#include "ops/variables/variable.h"
#include "tests/golden/handlers.h"

namespace towerflow::golden {
namespace {

void add_item(const std::string& key, const Value& value) {
  std::visit(
      [&]<class T>(const T& held) {
        if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, Variable> ||
                      std::is_same_v<T, Operation> || std::is_same_v<T, std::string> ||
                      std::is_same_v<T, std::int64_t> || std::is_same_v<T, double> ||
                      std::is_same_v<T, Object>) {
          add_to_collection(key, held);
        } else {
          throw BadProgram("cannot add to a collection: " + value.kind());
        }
      },
      value.held());
}

Value value_of(const CollectionItem& item) {
  if (const auto* tensor = std::any_cast<Tensor>(&item.value)) return *tensor;
  if (const auto* variable = std::any_cast<Variable>(&item.value)) return *variable;
  if (const auto* operation = std::any_cast<Operation>(&item.value)) return *operation;
  if (const auto* text = std::any_cast<std::string>(&item.value)) return *text;
  if (const auto* number = std::any_cast<std::int64_t>(&item.value)) return *number;
  if (const auto* number = std::any_cast<double>(&item.value)) return *number;
  return Object{"member", item.value};
}

Value collected(Interpreter& in, const Args& args) {
  const std::string key = args.text("key");
  const auto scope = args.optional_text("scope");
  List members;
  for (const CollectionItem* item : in.graph().collections().matching(key, scope)) {
    members.push_back(value_of(*item));
  }
  return members;
}

Value keys(Interpreter& in, const Args&) {
  List list;
  for (const std::string& key : in.graph().collections().keys()) list.emplace_back(key);
  return list;
}

}  // namespace

void add_collection_handlers(HandlerTable& table) {
  table["add_to_collection"] = [](Interpreter&, const Args& args) -> Value {
    add_item(args.text("name"), args.value("value"));
    return {};
  };
  table["add_to_collections"] = [](Interpreter&, const Args& args) -> Value {
    const auto names = args.texts("names");
    args.value("value");  // counts as read even if `names` is empty
    // As in TensorFlow, `names` is a set: each collection gets the object once.
    for (const std::string& name : std::set(names->begin(), names->end())) {
      add_item(name, args.value("value"));
    }
    return {};
  };
  table["extend_collection_ref"] = [](Interpreter&, const Args& args) -> Value {
    for (const Value& value : args.list("values")) add_item(args.text("key"), value);
    return {};
  };
  table["clear_collection_ref"] = [](Interpreter&, const Args& args) -> Value {
    get_collection_ref(args.text("key")).clear();
    return {};
  };
  table["scope_collection"] = [](Interpreter&, const Args& args) -> Value {
    const auto* scope = args.value("scope").get_if<VariableScopeHandle>();
    if (scope == nullptr) throw BadProgram("argument scope should be a VariableScope");
    const std::string listing = args.text("listing");
    const Collected<Variable> found = listing == "global_variables" ? (*scope)->global_variables()
                                      : listing == "local_variables"
                                          ? (*scope)->local_variables()
                                          : (*scope)->trainable_variables();
    return List(found.begin(), found.end());
  };
  table["get_collection"] = collected;
  table["get_all_collection_keys"] = keys;
}

}  // namespace towerflow::golden
