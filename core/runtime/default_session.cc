#include "core/runtime/default_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/graph/log.h"
#include "core/runtime/session.h"

namespace towerflow {
namespace {

/// The default sessions of this thread, the current one last.
std::vector<Session*>& default_sessions() {
  thread_local std::vector<Session*> sessions;
  return sessions;
}

void drop_default_session(const Session* session) {
  std::vector<Session*>& sessions = default_sessions();
  const auto last = std::find(sessions.rbegin(), sessions.rend(), session);
  if (last != sessions.rend()) sessions.erase(std::next(last).base());
}

/// Returns `given`, or the default session, once it is known to run `graph`, the graph of a `what`.
/// `call` is what the user called and `purpose` what for.
Session& session_for(Session* given, const Graph& graph, const char* call, const char* purpose,
                     const char* what, Site site) {
  Session* session = given != nullptr ? given : get_default_session();
  if (session == nullptr) {
    throw ValueError(
        fmt::format("Cannot {} using `{}()`: No default session is registered.", purpose, call),
        {.site = site,
         .hint = fmt::format("open a block with `session.as_default()`, make a "
                             "tf::InteractiveSession, or pass a session: `{}({{}}, &session)`",
                             call)});
  }
  if (&session->graph() != &graph) {
    throw ValueError(
        fmt::format("Cannot use the {} session to {}: the {}'s graph is different from the "
                    "session's graph.",
                    given != nullptr ? "given" : "default", purpose, what),
        {.site = site, .hint = "pass a session of that graph"});
  }
  return *session;
}

std::atomic<int> interactive_sessions{0};

}  // namespace

Session* get_default_session() {
  return default_sessions().empty() ? nullptr : default_sessions().back();
}

DefaultSessionGuard::DefaultSessionGuard(Session& session) : session_(&session) {
  default_sessions().push_back(&session);
}
DefaultSessionGuard::~DefaultSessionGuard() { drop_default_session(session_); }

DefaultSessionGuard Session::as_default() { return DefaultSessionGuard(*this); }

Array Tensor::eval(const std::vector<Feed>& feeds, Session* session, Site site) const {
  return session_for(session, graph(), "eval", "evaluate tensor", "tensor", site)
      .run(*this, feeds, site);
}
Array Tensor::eval(Session& session, Site site) const { return eval(Feeds(), &session, site); }
Array Tensor::eval(Site site) const { return eval(Feeds(), nullptr, site); }

void Operation::run(const std::vector<Feed>& feeds, Session* session, Site site) const {
  session_for(session, graph(), "run", "execute operation", "operation", site)
      .run(*this, feeds, site);
}
void Operation::run(Session& session, Site site) const { run(Feeds(), &session, site); }
void Operation::run(Site site) const { run(Feeds(), nullptr, site); }

InteractiveSession::InteractiveSession(ConfigProto config)
    : InteractiveSession(get_default_graph(), std::move(config), false) {}
InteractiveSession::InteractiveSession(Graph& graph, ConfigProto config)
    : InteractiveSession(graph, std::move(config), true) {}
InteractiveSession::InteractiveSession(Graph& graph, ConfigProto config, bool makes_default)
    : Session(graph, std::move(config)) {
  if (interactive_sessions++ > 0) {
    log_message(LogLevel::warning,
                "An interactive session is already active. Close it to release its memory, or use "
                "tf::Session.");
  }
  session_guard_.emplace(*this);
  if (makes_default) graph_guard_.emplace(graph);
}
InteractiveSession::~InteractiveSession() { close(); }

void InteractiveSession::close() {
  Session::close();
  if (!session_guard_) return;
  --interactive_sessions;
  graph_guard_.reset();
  session_guard_.reset();
}

}  // namespace towerflow
