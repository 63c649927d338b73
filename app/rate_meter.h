#pragma once
// Tokens per second out of two growing numbers, looked at twice a second.
//
// A rate over a moment means nothing: a few tokens of one draft cycle look like thousands a second.
// So a rate spans at least half a second of work, and work that ends sooner has one rate, over all
// of it. Between two rates the last one stands.

#include <optional>

namespace app {

class RateMeter {
public:
    static constexpr double kLeastSpan = 0.5;   // seconds
    static constexpr double kLeastWhole = 0.02; // below this a whole says nothing either

    // What was done since the work of this number began, and how long that took. `ended`: nothing
    // more comes.
    std::optional<double> take(int work, int tokens, double seconds, bool ended) {
        if (work != m_work) {
            *this = {};
            m_work = work;
        }
        if (m_ended) return std::nullopt;
        m_ended = ended && tokens > 0;
        if (seconds - m_sinceSeconds >= kLeastSpan) {
            m_rate = (tokens - m_sinceTokens) / (seconds - m_sinceSeconds);
            m_sinceTokens = tokens;
            m_sinceSeconds = seconds;
        } else if (m_ended && !m_rate && seconds >= kLeastWhole) {
            return tokens / seconds;
        } else if (m_ended) {
            return std::nullopt;
        }
        return m_rate;
    }

private:
    int m_work = 0, m_sinceTokens = 0;
    double m_sinceSeconds = 0;
    bool m_ended = false;
    std::optional<double> m_rate;
};

} // namespace app
