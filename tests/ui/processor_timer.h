#pragma once
// Times what the window does in processor time, so that other programs on the machine do not count.

#include <ctime>

class ProcessorTimer {
public:
    void restart() { m_start = std::clock(); }
    // Milliseconds of this process since it was made or restarted.
    double elapsed() const { return 1000.0 * double(std::clock() - m_start) / CLOCKS_PER_SEC; }

private:
    std::clock_t m_start = std::clock();
};
