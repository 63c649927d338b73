#pragma once
// Ctrl+C as a stop token: the first one asks to stop, the second one ends the program as usual.

#include <stop_token>
#include <thread>

namespace app {

class Interrupt {
public:
    Interrupt(); // one at a time
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    std::stop_token token() const { return m_stop.get_token(); }

private:
    std::stop_source m_stop;
    std::jthread m_watcher;
};

} // namespace app
