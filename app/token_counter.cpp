#include "app/token_counter.h"

#include "engine/gguf/gguf_file.h"

#include <QtConcurrent>

namespace app {

namespace {

std::shared_ptr<const engine::Tokenizer> readTokenizer(const std::filesystem::path& target) {
    const engine::Result<engine::GgufFile> file = engine::GgufFile::openHeader(target);
    if (!file.ok()) return nullptr;
    engine::Result<engine::Tokenizer> tokenizer = engine::Tokenizer::read(*file);
    if (!tokenizer.ok()) return nullptr;
    return std::make_shared<const engine::Tokenizer>(std::move(tokenizer.value()));
}

} // namespace

TokenCounter::TokenCounter(QObject* parent) : QObject(parent) {
    m_pool.setMaxThreadCount(1);
    connect(&m_reading, &QFutureWatcherBase::finished, this, [this] {
        m_tokenizer = m_target.empty() ? nullptr : m_reading.result();
        if (m_next) startCount();
    });
    connect(&m_counting, &QFutureWatcherBase::finished, this, [this] {
        if (m_next) {
            startCount();
        } else {
            emit counted(m_counting.result());
        }
    });
}

TokenCounter::~TokenCounter() {
    m_pool.waitForDone();
}

void TokenCounter::setModel(const std::filesystem::path& target) {
    if (target == m_target) return;
    m_target = target;
    m_tokenizer = nullptr;
    if (target.empty()) return;
    m_reading.setFuture(QtConcurrent::run(&m_pool, readTokenizer, target));
}

void TokenCounter::count(const QString& text) {
    m_next = text;
    if (!m_counting.isRunning() && !m_reading.isRunning()) startCount();
}

void TokenCounter::startCount() {
    const QString text = *std::exchange(m_next, std::nullopt);
    m_counting.setFuture(QtConcurrent::run(&m_pool, [tokenizer = m_tokenizer, text] {
        if (!tokenizer) return -1;
        return static_cast<int>(tokenizer->encodeText(text.toStdString()).size());
    }));
}

} // namespace app
