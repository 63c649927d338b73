#pragma once
// Result<T>: a value, or an Error. What can fail returns one; nothing in the engine throws.
// Callers add context on the way up, so that the message reads from the outside in:
//   "loading model.gguf: blk.3.ffn_up: needs 142 MiB, 90 MiB free".

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace engine {

// Unfinished: a sound file whose end is missing, such as one that is still being downloaded.
enum class ErrorCode {
    Io,
    InvalidFile,
    Unfinished,
    Unsupported,
    OutOfMemory,
    Device,
    Cancelled,
    Internal
};

struct Error {
    ErrorCode code = ErrorCode::Internal;
    std::string message; // UTF-8, a phrase without a final full stop
};

inline Error withContext(Error error, std::string_view context) {
    error.message = std::string(context) + ": " + error.message;
    return error;
}

template<class T> class [[nodiscard]] Result {
public:
    Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return m_state.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& value() & { return std::get<0>(m_state); }
    const T& value() const& { return std::get<0>(m_state); }
    // By value, so that for (x : f().value()) does not walk through what is gone already.
    T value() && { return std::get<0>(std::move(m_state)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    const Error& error() const { return std::get<1>(m_state); }

    Result context(std::string_view text) && {
        if (ok()) return std::move(*this);
        return withContext(std::get<1>(std::move(m_state)), text);
    }

private:
    std::variant<T, Error> m_state;
};

template<> class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : m_state(std::move(error)) {}

    bool ok() const { return m_state.index() == 0; }
    explicit operator bool() const { return ok(); }
    const Error& error() const { return std::get<1>(m_state); }

    Result context(std::string_view text) && {
        if (ok()) return {};
        return withContext(std::get<1>(std::move(m_state)), text);
    }

private:
    std::variant<std::monostate, Error> m_state;
};

} // namespace engine
