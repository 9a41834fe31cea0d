#include "core/graph/error.h"

#include <fmt/format.h>

namespace towerflow {
namespace {

std::string full_text(const char* kind, std::string_view message, const ErrorDetail& detail) {
  std::string text = fmt::format("{}: {}", kind, message);
  if (!detail.node.empty()) {
    text += fmt::format("\n  node: {}", detail.node);
    if (!detail.op.empty()) text += fmt::format(" ({})", detail.op);
    if (!detail.device.empty()) text += fmt::format(" on {}", detail.device);
  } else if (!detail.device.empty()) {
    text += fmt::format("\n  device: {}", detail.device);
  }
  if (detail.site.known()) text += fmt::format("\n  at: {}", detail.site.text());
  if (!detail.hint.empty()) text += fmt::format("\n  hint: {}", detail.hint);
  return text;
}

ErrorDetail merged(ErrorDetail own, const ErrorDetail& outer) {
  if (!own.site.known()) own.site = outer.site;
  if (own.node.empty()) {
    own.node = outer.node;
    own.op = outer.op;
    own.device = outer.device;
  }
  if (own.hint.empty()) own.hint = outer.hint;
  return own;
}

}  // namespace

Error::Error(const char* kind, std::string_view message, const ErrorDetail& detail)
    : std::runtime_error(full_text(kind, message, detail)),
      kind_(kind),
      message_(message),
      detail_(detail) {}

ValueError::ValueError(std::string_view message, const ErrorDetail& detail)
    : Error("ValueError", message, detail) {}
TypeError::TypeError(std::string_view message, const ErrorDetail& detail)
    : Error("TypeError", message, detail) {}
KeyError::KeyError(std::string_view message, const ErrorDetail& detail)
    : Error("KeyError", message, detail) {}
LookupError::LookupError(std::string_view message, const ErrorDetail& detail)
    : Error("LookupError", message, detail) {}
NotImplementedError::NotImplementedError(std::string_view message, const ErrorDetail& detail)
    : Error("NotImplementedError", message, detail) {}
RuntimeError::RuntimeError(std::string_view message, const ErrorDetail& detail)
    : Error("RuntimeError", message, detail) {}

namespace errors {

OpError::OpError(Code code, std::string_view message, const ErrorDetail& detail)
    : Error(class_name(code), message, detail), code_(code) {}

const char* class_name(Code code) noexcept {
  switch (code) {
    case Code::ok:
      return "OK";
    case Code::cancelled:
      return "CancelledError";
    case Code::unknown:
      return "UnknownError";
    case Code::invalid_argument:
      return "InvalidArgumentError";
    case Code::deadline_exceeded:
      return "DeadlineExceededError";
    case Code::not_found:
      return "NotFoundError";
    case Code::already_exists:
      return "AlreadyExistsError";
    case Code::permission_denied:
      return "PermissionDeniedError";
    case Code::resource_exhausted:
      return "ResourceExhaustedError";
    case Code::failed_precondition:
      return "FailedPreconditionError";
    case Code::aborted:
      return "AbortedError";
    case Code::out_of_range:
      return "OutOfRangeError";
    case Code::unimplemented:
      return "UnimplementedError";
    case Code::internal:
      return "InternalError";
    case Code::unavailable:
      return "UnavailableError";
    case Code::data_loss:
      return "DataLossError";
    case Code::unauthenticated:
      return "UnauthenticatedError";
  }
  return "UnknownError";
}

void raise(Code code, std::string_view message, const ErrorDetail& detail) {
  switch (code) {
    case Code::cancelled:
      throw CancelledError(message, detail);
    case Code::unknown:
      throw UnknownError(message, detail);
    case Code::invalid_argument:
      throw InvalidArgumentError(message, detail);
    case Code::deadline_exceeded:
      throw DeadlineExceededError(message, detail);
    case Code::not_found:
      throw NotFoundError(message, detail);
    case Code::already_exists:
      throw AlreadyExistsError(message, detail);
    case Code::permission_denied:
      throw PermissionDeniedError(message, detail);
    case Code::resource_exhausted:
      throw ResourceExhaustedError(message, detail);
    case Code::failed_precondition:
      throw FailedPreconditionError(message, detail);
    case Code::aborted:
      throw AbortedError(message, detail);
    case Code::out_of_range:
      throw OutOfRangeError(message, detail);
    case Code::unimplemented:
      throw UnimplementedError(message, detail);
    case Code::internal:
      throw InternalError(message, detail);
    case Code::unavailable:
      throw UnavailableError(message, detail);
    case Code::data_loss:
      throw DataLossError(message, detail);
    default:
      throw OpError(code, message, detail);
  }
}

}  // namespace errors

void rethrow_from_run() {
  try {
    throw;
  } catch (const ValueError& error) {
    throw errors::InvalidArgumentError(error.message(), error.detail());
  } catch (const TypeError& error) {
    throw errors::InvalidArgumentError(error.message(), error.detail());
  }
}

void rethrow_with(const ErrorDetail& detail) {
  try {
    throw;
  } catch (const errors::OpError& error) {
    errors::raise(error.code(), error.message(), merged(error.detail(), detail));
  } catch (const ValueError& error) {
    throw ValueError(error.message(), merged(error.detail(), detail));
  } catch (const TypeError& error) {
    throw TypeError(error.message(), merged(error.detail(), detail));
  } catch (const KeyError& error) {
    throw KeyError(error.message(), merged(error.detail(), detail));
  } catch (const LookupError& error) {
    throw LookupError(error.message(), merged(error.detail(), detail));
  } catch (const NotImplementedError& error) {
    throw NotImplementedError(error.message(), merged(error.detail(), detail));
  } catch (const RuntimeError& error) {
    throw RuntimeError(error.message(), merged(error.detail(), detail));
  } catch (const std::bad_alloc&) {
    throw errors::ResourceExhaustedError("out of memory", detail);
  } catch (const std::exception& error) {
    throw errors::InternalError(error.what(), detail);
  }
}

}  // namespace towerflow
