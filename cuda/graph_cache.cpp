#include "cuda/graph_cache.h"

namespace cuda {

bool GraphCache::replay(std::string_view key, const std::function<bool()>& fn) {
    if (m_context.failed()) return true; // operations do nothing, and this is one of them
    if (m_recording) return fn();
    std::string name(key);
    auto found = m_graphs.find(name);
    if (found == m_graphs.end()) {
        bool complete = true;
        GraphExec graph = record(fn, complete);
        if (!graph) return complete;
        if (m_graphs.size() >= kMostGraphs) m_graphs.clear();
        found = m_graphs.emplace(std::move(name), Entry{std::move(graph), stamp()}).first;
    }
    start(found->second.graph);
    return true;
}

// Thread-local: what other threads do with the driver neither fails nor is recorded.
GraphExec GraphCache::record(const std::function<bool()>& fn, bool& complete) {
    const Driver& driver = m_context.driver();
    if (!m_context.check(driver.cuStreamBeginCapture(m_stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                         "recording a step"))
        return {};
    m_recording = true;
    complete = fn();
    m_recording = false;
    CUgraph recorded = nullptr;
    const CUresult ended = driver.cuStreamEndCapture(m_stream, &recorded);
    const Graph graph(m_context, recorded);
    // A launch that failed has been remembered already, with its name.
    if (m_context.failed() || !m_context.check(ended, "recording a step")) return {};
    if (!complete) return {};
    CUgraphExec ready = nullptr;
    if (!m_context.check(driver.cuGraphInstantiateWithFlags(&ready, recorded, 0),
                         "preparing a recorded step"))
        return {};
    return GraphExec(m_context, ready);
}

void GraphCache::start(const GraphExec& graph) {
    const CUresult started = m_context.faults().failLaunch()
                                 ? CUDA_ERROR_LAUNCH_FAILED
                                 : m_context.driver().cuGraphLaunch(graph.get(), m_stream);
    m_context.check(started, "starting a recorded step");
}

void GraphCache::dropSince(std::uint64_t stamp) {
    std::erase_if(m_graphs, [&](const auto& entry) { return entry.second.recorded > stamp; });
}

} // namespace cuda
