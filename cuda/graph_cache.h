#pragma once
// GraphCache: sequences of launches, recorded once and started again as one. A graph keeps the
// addresses that its launches were given, so it is dropped as soon as memory that it may name is
// given back.
//
// Borrows the context and the stream. Engine thread.

#include "cuda/handles.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace cuda {

class GraphCache {
public:
    GraphCache(Context& context, CUstream stream) : m_context(context), m_stream(stream) {}

    // Runs what fn launches: recorded the first time, started again for the same key. A fn that
    // returns false broke off: nothing of it runs, and false is returned. Inside fn a further
    // replay is part of the outer recording.
    bool replay(std::string_view key, const std::function<bool()>& fn);
    bool recording() const { return m_recording; }

    // A stamp for memory being taken. Memory with a stamp is given back: graphs recorded after it
    // was taken may name it; older ones cannot.
    std::uint64_t stamp() { return ++m_clock; }
    void dropSince(std::uint64_t stamp);

    std::size_t size() const { return m_graphs.size(); }

private:
    // A graph takes a few MiB of the card. Steps of each length and part are up to eighty; whoever
    // has more starts anew.
    static constexpr std::size_t kMostGraphs = 128;

    struct Entry {
        GraphExec graph;
        std::uint64_t recorded = 0;
    };
    void start(const GraphExec& graph);
    // Empty after a failure, or when fn broke off.
    GraphExec record(const std::function<bool()>& fn, bool& complete);

    Context& m_context;
    CUstream m_stream;
    bool m_recording = false;
    std::uint64_t m_clock = 0;
    std::unordered_map<std::string, Entry> m_graphs;
};

// A member of everything that owns memory which launches may name: drops the graphs that may name
// it when it goes.
class GraphGuard {
public:
    GraphGuard() = default;
    explicit GraphGuard(GraphCache& graphs) : m_graphs(&graphs), m_stamp(graphs.stamp()) {}
    GraphGuard(GraphGuard&& other) noexcept { swap(other); }
    GraphGuard& operator=(GraphGuard&& other) noexcept {
        GraphGuard moved(std::move(other));
        swap(moved);
        return *this;
    }
    ~GraphGuard() {
        if (m_graphs) m_graphs->dropSince(m_stamp);
    }

private:
    void swap(GraphGuard& other) noexcept {
        std::swap(m_graphs, other.m_graphs);
        std::swap(m_stamp, other.m_stamp);
    }
    GraphCache* m_graphs = nullptr;
    std::uint64_t m_stamp = 0;
};

} // namespace cuda
