#pragma once
// What a draft costs in tokens, counted off the GUI thread with the tokenizer of the chosen model.
// Only the latest text is counted: while a count runs, newer texts replace each other.
//
// GUI thread.

#include "engine/token/tokenizer.h"

#include <QFutureWatcher>
#include <QObject>
#include <QString>
#include <QThreadPool>

#include <filesystem>
#include <memory>
#include <optional>

namespace app {

class TokenCounter : public QObject {
    Q_OBJECT
public:
    explicit TokenCounter(QObject* parent = nullptr);
    ~TokenCounter() override; // waits for the count in hand

    // Reads the tokenizer of this target in the background; an empty path forgets it.
    void setModel(const std::filesystem::path& target);
    // Ends with counted(tokens), later and only for the latest text.
    void count(const QString& text);

signals:
    void counted(int tokens); // -1: no tokenizer

private:
    using SharedTokenizer = std::shared_ptr<const engine::Tokenizer>;
    void startCount();

    QThreadPool m_pool; // one thread, so that counts come in order
    QFutureWatcher<SharedTokenizer> m_reading;
    QFutureWatcher<int> m_counting;
    SharedTokenizer m_tokenizer;
    std::optional<QString> m_next;
    std::filesystem::path m_target;
};

} // namespace app
