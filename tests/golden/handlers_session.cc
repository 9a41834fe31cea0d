// Running: `run`, `new_session`.
#include "tests/golden/handlers.h"

namespace towerflow::golden {
namespace {

/// Converts the value of a feed to the dtype of the fed tensor, as NumPy does.
Array fed_value(const Value& value, const Tensor& tensor) {
  if (const auto* array = value.get_if<Array>()) return *array;
  return to_array(to_nested(value), tensor.dtype());
}

Value run(Interpreter& in, const Args& args) {
  const std::string compare = args.text("compare", "close");
  if (compare != "close" && compare != "exact" && compare != "ulp2" && compare != "shape") {
    throw BadProgram("no such way to compare: " + compare);
  }
  std::vector<Fetch> fetches;
  for (const Value& value : args.list("fetches")) fetches.push_back(to_fetch(value));
  Feeds feeds;
  if (args.has("feeds")) {
    for (const Value& pair : args.list("feeds")) {
      const Tensor tensor = to_tensor(pair.list()->at(0));
      feeds.emplace_back(tensor, fed_value(pair.list()->at(1), tensor));
    }
  }
  const std::vector<Array> results = in.session().run(std::span<const Fetch>(fetches), feeds);
  List values;
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    values.push_back(fetches[i].tensor() ? Value(results[i]) : Value());
  }
  return values;
}

}  // namespace

void add_session_handlers(HandlerTable& table) {
  table["run"] = run;
  table["new_session"] = [](Interpreter& in, const Args&) -> Value {
    in.close_session();
    return {};
  };
}

}  // namespace towerflow::golden
