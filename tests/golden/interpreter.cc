#include "tests/golden/interpreter.h"

#include "tests/golden/describe.h"
#include "tests/golden/handlers.h"

namespace towerflow::golden {

Interpreter::Interpreter() : default_graph_(graph_.as_default()) {}

Interpreter::~Interpreter() {
  while (!open_.empty()) open_.pop_back();
}

void Interpreter::exit() {
  if (open_.empty()) throw BadProgram("exit without an open scope");
  open_.pop_back();
}

Session& Interpreter::session() {
  if (session_ == nullptr) {
    session_ = std::make_unique<Session>(
        graph_, ConfigProto{.device_count = {{"CPU", 1}}, .allow_soft_placement = true});
  }
  return *session_;
}

void Interpreter::close_session() { session_.reset(); }

Json Interpreter::step(const Json& call) {
  const std::string op = call.at("op");
  const bool entering = op.starts_with("enter_");
  if (skip_depth_ > 0) {
    skip_depth_ += entering ? 1 : 0;
    skip_depth_ -= op == "exit" ? 1 : 0;
    return {{"skipped", true}};
  }
  std::map<std::string, Value> values;
  const Json given = call.value("args", Json::object());
  try {
    for (const auto& [name, json] : given.items()) {
      values.emplace(name, decode(json, bound_));
    }
  } catch (const Unbound&) {
    skip_depth_ += entering ? 1 : 0;
    return {{"skipped", true}};
  }
  const Handler* handler = find_handler(op);
  if (handler == nullptr) throw BadProgram("no such op: " + op);
  const Args args(std::move(values));
  try {
    const Value result = (*handler)(*this, args);
    args.check_all_read();
    if (call.contains("out")) bound_.insert_or_assign(call["out"].get<std::string>(), result);
    if (op == "run") return outcome_of({{"values", describe_values(result, args)}});
    if (result.none()) return outcome_of(Json::object());
    return outcome_of({{"result", describe(result)}});
  } catch (const Error& error) {
    skip_depth_ += entering ? 1 : 0;
    args.check_all_read();
    return outcome_of({{"error", error.kind()}, {"message", error.what()}});
  } catch (const DoesNotCompile& error) {
    skip_depth_ += entering ? 1 : 0;
    return outcome_of({{"error", kDoesNotCompile}, {"message", error.what()}});
  }
}

Json Interpreter::outcome_of(Json outcome) {
  Json nodes = Json::array();
  for (; seen_ < graph_.size(); ++seen_) nodes.push_back(describe_node(graph_.operation(seen_)));
  if (!nodes.empty()) outcome["nodes"] = std::move(nodes);
  return outcome;
}

Json Interpreter::finish() {
  while (!open_.empty()) open_.pop_back();
  return describe_final(graph_);
}

}  // namespace towerflow::golden
