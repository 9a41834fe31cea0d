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
  std::optional<Args> given;
  try {
    given = arguments_of(call);
  } catch (const Unbound&) {
    skip_depth_ += entering ? 1 : 0;
    return {{"skipped", true}};
  }
  const Args& args = *given;
  try {
    const Value result = perform(call, args);
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

Args Interpreter::arguments_of(const Json& call) const {
  std::map<std::string, Value> values;
  const Json given = call.value("args", Json::object());
  for (const auto& [name, json] : given.items()) values.emplace(name, decode(json, bound_));
  return Args(std::move(values));
}

Value Interpreter::perform(const Json& call, const Args& args) {
  const std::string op = call.at("op");
  const Handler* handler = find_handler(op);
  if (handler == nullptr) throw BadProgram("no such op: " + op);
  Value result = (*handler)(*this, args);
  args.check_all_read();
  if (call.contains("out")) bound_.insert_or_assign(call["out"].get<std::string>(), result);
  return result;
}

Value Interpreter::run_function(const Object& function, const List& arguments) {
  const auto form = std::any_cast<std::shared_ptr<const Json>>(function.object);
  const Json& parameters = form->at("parameters");
  if (parameters.size() != arguments.size()) {
    throw DoesNotCompile("a function of " + std::to_string(parameters.size()) +
                         " parameters got another number of arguments");
  }
  const std::map<std::string, Value> outer = bound_;
  const std::size_t depth = open_.size();
  const auto leave = [&] {
    while (open_.size() > depth) open_.pop_back();
    bound_ = outer;
  };
  try {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      bound_.insert_or_assign(parameters[i].get<std::string>(), arguments[i]);
    }
    for (const Json& call : form->at("calls")) perform(call, arguments_of(call));
    Value result = decode(form->at("returns"), bound_);
    leave();
    return result;
  } catch (...) {
    leave();
    throw;
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
