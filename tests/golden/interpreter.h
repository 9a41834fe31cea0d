#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/runtime/session.h"
#include "tests/golden/args.h"

namespace towerflow::golden {

/// A scope guard of any type on the stack of open scopes.
struct OpenScope {
  virtual ~OpenScope() = default;
};

/// The state of running one program: graph, results by name, open scopes, session.
class Interpreter {
 public:
  Interpreter();
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Runs a call and returns its outcome in the form described in README.md. Throws BadProgram.
  Json step(const Json& call);
  /// Closes the open scopes and returns collections and lists of variables.
  Json finish();

  /// Opens the scope that `make()` returns, until the matching `exit`.
  template <class Make>
  auto& enter(Make&& make) {
    using Guard = decltype(make());
    struct Holder : OpenScope {
      explicit Holder(Make& make_guard) : guard(make_guard()) {}
      Guard guard;
    };
    auto holder = std::make_unique<Holder>(make);
    Guard& guard = holder->guard;
    open_.push_back(std::move(holder));
    return guard;
  }
  void exit();

  /// Runs the body of a function, a {"function": ..} argument, as a part of the call that is being
  /// run. What it binds and opens ends with it; an error of one of its calls ends it as well.
  Value run_function(const Object& function, const List& arguments);

  Graph& graph() { return graph_; }
  /// Returns the session, which the first use opens.
  Session& session();
  void close_session();

 private:
  Json outcome_of(Json outcome);
  Args arguments_of(const Json& call) const;
  Value perform(const Json& call, const Args& args);

  Graph graph_;
  DefaultGraphGuard default_graph_;
  std::map<std::string, Value> bound_;
  std::vector<std::unique_ptr<OpenScope>> open_;
  int skip_depth_ = 0;  // > 0 inside a scope whose entry failed or was skipped
  std::unique_ptr<Session> session_;
  std::size_t seen_ = 0;
};

}  // namespace towerflow::golden
