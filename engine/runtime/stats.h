#pragma once
// Running measurements that steer drafting and feed the live panel. They hold no clock: whoever
// measures brings the seconds, so tests bring their own.

#include <algorithm>
#include <array>

namespace engine {

// A mean that follows slow changes: the first values count equally, later ones with a fixed weight.
class RunningMean {
public:
    RunningMean() = default;
    // A prior that weighs as much as `weight` values.
    RunningMean(double prior, int weight, double slowest)
        : m_value(prior), m_slowest(slowest), m_count(weight) {}

    void add(double value) {
        ++m_count;
        m_value += (value - m_value) * std::max(1.0 / m_count, m_slowest);
    }
    // The next values weigh as if few had come before.
    void loosen(int count) { m_count = std::min(m_count, count); }
    double value() const { return m_value; }
    bool known() const { return m_count > 0; }

private:
    double m_value = 0;
    double m_slowest = 0.1;
    int m_count = 0;
};

// Seconds of a pass by its number of rows. Widths that were not measured lie on the line between
// their measured neighbours.
class PassTimes {
public:
    static constexpr int kMaxRows = 16;

    void add(int rows, double seconds) {
        Entry& entry = m_entries[std::size_t(rows)];
        entry.mean.add(seconds);
    }
    // A rough first value, replaced by the first measurement.
    void seed(int rows, double seconds) {
        Entry& entry = m_entries[std::size_t(rows)];
        if (!entry.mean.known()) {
            entry.mean = RunningMean(seconds, 0, 0.1);
            entry.seeded = true;
        }
    }
    bool measured(int rows) const { return m_entries[std::size_t(rows)].mean.known(); }

    double at(int rows) const { // 0: nothing is known
        int below = 0;
        int above = 0;
        for (int i = 1; i <= kMaxRows; ++i) {
            if (!known(i)) continue;
            if (i <= rows) below = i;
            if (i >= rows && above == 0) above = i;
        }
        if (below == 0 && above == 0) return 0;
        if (above ==
            0) { // beyond the last: proportional growth at most, since weights are read once
            return value(below) * rows / below;
        }
        if (below == 0) return value(above);
        if (below == above) return value(below);
        const double share = double(rows - below) / (above - below);
        return value(below) + (value(above) - value(below)) * share;
    }

private:
    struct Entry {
        RunningMean mean;
        bool seeded = false;
    };
    bool known(int rows) const { return m_entries[std::size_t(rows)].seeded || measured(rows); }
    double value(int rows) const { return m_entries[std::size_t(rows)].mean.value(); }
    std::array<Entry, kMaxRows + 1> m_entries;
};

// Tokens per second over roughly the last cycles.
class SpeedMeter {
public:
    void add(int tokens, double seconds) {
        constexpr double kKeep = 0.97; // about the last 30 cycles
        m_tokens = m_tokens * kKeep + tokens;
        m_seconds = m_seconds * kKeep + seconds;
    }
    double tokensPerSecond() const { return m_seconds > 0 ? m_tokens / m_seconds : 0; }

private:
    double m_tokens = 0;
    double m_seconds = 0;
};

} // namespace engine
